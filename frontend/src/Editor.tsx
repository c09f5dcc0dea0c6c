/** The selected grader's source: typed text is sent after a pause and updates checks, findings and rows. */

import { useEffect } from "preact/hooks";
import { CodeBox } from "./CodeBox.tsx";
import { useTell, useView } from "./view.ts";

export function Editor() {
  const view = useView();
  const tell = useTell();
  const chosen = view.link.state.chosen.value;
  const { name, source } = chosen;
  useEffect(() => () => view.typing.flush(), [name]);
  if (chosen.kept && !view.old.value) view.kept.set(name, source.text);
  if (!view.painted.value) return <div class="editor"><pre class="ahead">{source.text}</pre></div>;
  return (
    <CodeBox
      name={name}
      text={source.text}
      revision={source.revision}
      language={source.language}
      editable={source.editable}
      error={source.error}
      kept={view.kept.get(name) ?? null}
      label={`Source of ${name}`}
      dirty={() => view.typing.state.peek().dirty}
      typed={(text) => view.typing.type(name, text)}
      keep={() => tell({ do: "keep", name })}
    />
  );
}
