/** Where the evidence rows of the finding come from: the values of one column. */

import { Bar, PickedShare } from "./Bar.tsx";
import type { From as FromData } from "./protocol.ts";
import { useView } from "./view.ts";
import { count } from "./words.ts";

export function From({ from }: { from: FromData }) {
  const { look, picked } = useView();
  const shares = picked.value?.origin ?? [];
  return (
    <div class="from">
      <div class="line"><h3>{from.title}</h3><span class="small faint grow cut">{from.note}</span></div>
      {from.lines.map(({ text, counts, hits, of, where }, at) => (
        <button key={text} type="button" class="fr" onClick={() => look(...where)}>
          <span class="cut" title={text}>{text}</span>
          <span class="grow"><Bar counts={counts} />{shares[at] !== undefined && <PickedShare part={shares[at]} whole={of} />}</span>
          <span class="num small"><b>{count(hits)}</b> <span class="faint">of {count(of)}</span></span>
        </button>
      ))}
    </div>
  );
}
