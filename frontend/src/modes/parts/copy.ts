/** Copy a text. A notebook may be shown where the page must not write to the clipboard by itself. */

export async function copyText(text: string, near: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text, near);
  }
}

function copyBySelection(text: string, near: Element): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "unseen";
  near.append(field);
  field.select();
  const done = typeof document.execCommand === "function" && document.execCommand("copy");
  field.remove();
  return done;
}
