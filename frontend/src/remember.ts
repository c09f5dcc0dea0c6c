/** Small settings of a person that a browser keeps; where it keeps nothing, they are forgotten. */

const PREFIX = "grader-workbench:";

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Private windows and frames from elsewhere have no storage.
  }
}
