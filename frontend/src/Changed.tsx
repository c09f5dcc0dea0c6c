/** The effect of the edit relative to the last saved version; a click shows the rows of each kind. */

import { Icon, Meaning } from "./Icon.tsx";
import type { Changed as ChangedData } from "./protocol.ts";
import { useTell } from "./view.ts";

export function Changed({ changed, name }: { changed: ChangedData; name: string }) {
  const tell = useTell();
  return (
    <div class="changed" role="status">
      <b class="sentence">{changed.sentence}</b>
      <button type="button" class="link small back" onClick={() => tell({ do: "back", name })}><Icon name="undo" small />{changed.back}</button>
      {changed.pills.length > 0 && <span class="pills">
        {changed.pills.map(({ shape, text, where, on }) => (
          <button key={text} type="button" class="pill" aria-pressed={on} onClick={() => tell({ do: "look", where: on ? [] : where })}>
            <Meaning shape={shape} small /><span class="cut">{text}</span>
          </button>
        ))}
      </span>}
    </div>
  );
}
