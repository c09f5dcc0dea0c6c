/** Names that break after their underscores, dots and hyphens rather than inside their words. */

/** `sentence`: words around names, so that only underscores are places to break: "0.5" stays whole. */
export function Breakable({ text, sentence = false }: { text: string; sentence?: boolean }) {
  const pieces = text.split(sentence ? /(?<=\w_)/ : /(?<=[_.-])/);
  return <>{pieces.flatMap((piece, at) => (at ? [<wbr key={at} />, piece] : [piece]))}</>;
}
