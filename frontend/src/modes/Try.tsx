/** Try: one conversation with an editable completion, and its grades by every grader. */

import { useLink } from "../context.ts";
import { Probe } from "./parts/Probe.tsx";
import { TryForm } from "./parts/TryForm.tsx";
import { TrySays } from "./parts/TrySays.tsx";
import { Empty } from "./parts/words.tsx";

export function Try() {
  const link = useLink();
  const data = link.state.try_out.value;
  return (
    <div class="mode half mode-try">
      <section aria-label="Conversation"><TryForm data={data} /></section>
      <section aria-label="Graders">
        <div class="head"><h2>Grades</h2></div>
        {data?.lines.length ? <TrySays data={data} /> : <Nobody data={Boolean(data)} />}
        {data?.probe.grader && <Probe probe={data.probe} />}
      </section>
    </div>
  );
}

function Nobody({ data }: { data: boolean }) {
  return <Empty title="No grades yet" step={data ? "Add a grader on the left, or define one with @wb.grader in any cell." : "Select a row on the left first."} />;
}
