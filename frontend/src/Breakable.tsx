/** A name that breaks after its underscores, dots and hyphens rather than inside its words. */

export function Breakable({ text }: { text: string }) {
  return <>{text.split(/(?<=[_.-])/).flatMap((piece, at) => (at ? [<wbr key={at} />, piece] : [piece]))}</>;
}
