/** Name and version of the selected grader, and its actions. */

import { Breakable } from "./Breakable.tsx";
import { saveText } from "./download.ts";
import { Icon } from "./Icon.tsx";
import { Item, Menu, Popover } from "./Popover.tsx";
import type { Chosen } from "./protocol.ts";
import { useTell, useView } from "./view.ts";

export function ChosenHead({ chosen }: { chosen: Chosen }) {
  const version = versionText(chosen);
  const view = useView();
  return (
    <div class="head">
      <h2 class="name cut" title={chosen.name}><Breakable text={chosen.name} /></h2>
      <span class="small faint kind">{chosen.draft ? "draft" : chosen.title}</span>
      <span class="line own">
        {version && <span class="small faint version" title={storedText(chosen)}>{version}</span>}
        {chosen.scores && (
          <button type="button" class="btn icon plain stretch" aria-pressed={view.tall.value} aria-label="higher editor" title={view.tall.value ? "Lower editor" : "Higher editor"} onClick={() => view.stretch(!view.tall.value)}>
            <Icon name={view.tall.value ? "up" : "down"} small />
          </button>
        )}
        <Popover side="right" class="btn icon plain" name={`more for ${chosen.name}`} label="This grader" button={<Icon name="more" />}>
          {(close) => <Entries chosen={chosen} close={close} />}
        </Popover>
      </span>
    </div>
  );
}

function versionText({ draft, version, kept }: Chosen): string {
  if (draft || !version) return "";
  return kept ? `version ${version}` : `version ${version}, not saved yet`;
}

function storedText({ stored }: Chosen): string {
  return stored ? `version ${stored} in the store` : "not in a store";
}

function Entries({ chosen, close }: { chosen: Chosen; close: () => void }) {
  const tell = useTell();
  const { name, source } = chosen;
  const after = (act: () => void) => () => {
    act();
    close();
  };
  return (
    <Menu label="This grader">
      <Item disabled={!chosen.can_keep} act={after(() => tell({ do: "keep", name }))}>Save this version <kbd>Ctrl s</kbd></Item>
      {chosen.changed && <Item act={after(() => tell({ do: "back", name }))}>{chosen.changed.back}</Item>}
      <Item act={after(() => tell({ do: "validate", name }))}>Validate: all five checks</Item>
      <Item disabled={!source.text} act={after(() => saveText(source.text, source.file || `${name}.txt`, "text/plain"))}>Download the file</Item>
      <hr />
      <Item act={after(() => tell({ do: "remove", name }))}>Remove from this view</Item>
    </Menu>
  );
}
