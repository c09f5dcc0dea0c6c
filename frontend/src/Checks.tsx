/** The five checks as one line, and the isolation of the code. */

import { Icon, type IconName } from "./Icon.tsx";
import type { Check, Chosen } from "./protocol.ts";

const ICONS: Record<Check["state"], [IconName, string]> = {
  ok: ["tick", "c-good"],
  failed: ["cross", "c-failed"],
  open: ["dash", "faint"],
  busy: ["wait", "faint"],
};

const SAID: Record<Check["state"], string> = { ok: "passes", failed: "fails", open: "not reached", busy: "running" };

export function Checks({ checks, isolation }: { checks: Check[]; isolation: Chosen["isolation"] }) {
  if (!checks.length && !isolation.word) return null;
  return (
    <div class="checks">
      <ul aria-label="Checks">
        {checks.map(({ name, state, message }) => (
          <li key={name} class={state === "open" ? "faint" : ""} title={message || `${name}: ${SAID[state]}`}>
            <Icon name={ICONS[state][0]} class={ICONS[state][1]} />{name}<span class="unseen"> {SAID[state]}</span>
          </li>
        ))}
      </ul>
      {isolation.word && <span class="isolation" title={isolation.tip}><Icon name="lock" />{isolation.word}</span>}
    </div>
  );
}
