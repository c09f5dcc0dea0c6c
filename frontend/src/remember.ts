/** Small settings that a browser stores for a user; without storage they are forgotten. */

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
    // Private windows and cross-origin frames have no storage.
  }
}
