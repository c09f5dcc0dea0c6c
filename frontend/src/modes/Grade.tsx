/** Grade: the selected grader, and the rows for its findings. A handle between them shares the width. */

import { useState } from "preact/hooks";
import { Chosen } from "../Chosen.tsx";
import { useLink } from "../context.ts";
import { Handle } from "../Handle.tsx";
import { recall, remember } from "../remember.ts";
import { Rows } from "../Rows.tsx";
import { Start } from "../Start.tsx";

const PLACE = "share of the editor";
export const LEAST = 25;
export const MOST = 70;

export function Grade() {
  const { lines, drafts } = useLink().state.rail.value;
  const [share, setShare] = useState(remembered);
  const move = (percent: number) => setShare(Math.round(Math.max(LEAST, Math.min(MOST, percent)) * 10) / 10);
  // Without a saved share the stylesheet sets it, by the width of the view.
  const columns = share === null ? undefined : { gridTemplateColumns: `minmax(0, ${share}fr) minmax(0, ${100 - share}fr)` };
  return (
    <div class="mode mode-grade" style={columns}>
      {lines.length + drafts.length ? <Chosen /> : <Start />}
      <Rows handle={<Handle share={share} move={move} done={() => share !== null && remember(PLACE, String(share))} />} />
    </div>
  );
}

function remembered(): number | null {
  const share = Number(recall(PLACE));
  return share >= LEAST && share <= MOST ? share : null;
}
