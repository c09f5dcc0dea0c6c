/** Files that the user drops into the view or chooses: sent in pieces, so that no message is too large for a kernel. */

import { signal } from "@preact/signals";
import type { Link } from "./link.ts";

/** Bytes of a piece; a third more in base64. */
export const PIECE = 600_000;
/** Maximum bytes of the files that are sent together, as in the kernel, which explains it. */
export const LARGEST = 100_000_000;

/** What a browser gives for a dropped or chosen file. */
export type Source = Pick<File, "name" | "size" | "slice">;

export interface Sending {
  name: string;
  done: number; // bytes
  total: number;
}

interface Told {
  name: string;
  size: number;
  problem: string;
}

export class FileSender {
  /** What is being sent; null for nothing. */
  readonly sending = signal<Sending | null>(null);
  /** Opens the browser's dialog for files; set while the view is drawn. */
  choose: () => void = () => undefined;
  private upload = "";

  constructor(private readonly link: Link) {}

  /** Send files and have them opened; one that the browser cannot read is reported as such. */
  readonly send = async (files: readonly Source[]): Promise<void> => {
    if (!files.length || this.upload) return;
    const upload = (this.upload = Math.random().toString(36).slice(2, 12));
    const total = files.reduce((sum, { size }) => sum + size, 0);
    const told: Told[] = [];
    let done = 0;
    try {
      for (const file of files) {
        const before = done;
        const problem = done + file.size > LARGEST ? "" : await this.pieces(file, upload, (sent) => (this.sending.value = { name: file.name, done: before + sent, total }));
        if (this.upload !== upload) return;
        told.push({ name: file.name, size: file.size, problem });
        done += file.size;
      }
      this.link.tell({ do: "open_files", upload, files: told });
    } finally {
      if (this.upload === upload) this.cancel(false);
    }
  };

  /** Stop sending; with `tell` the kernel drops what it has. */
  readonly cancel = (tell = true): void => {
    if (tell && this.upload) this.link.tell({ do: "cancel_files", upload: this.upload });
    this.upload = "";
    this.sending.value = null;
  };

  /** Send a file; why it cannot be read, or "". */
  private async pieces(file: Source, upload: string, progress: (sent: number) => void): Promise<string> {
    progress(0);
    for (let start = 0; start < file.size; start += PIECE) {
      let data: string;
      try {
        data = await base64(file.slice(start, start + PIECE));
      } catch (error) {
        return error instanceof Error || error instanceof DOMException ? error.name : String(error);
      }
      if (this.upload !== upload) return "";
      try {
        await this.link.ask<number>({ ask: "file_piece", upload, name: file.name, start, data });
      } catch {
        return ""; // the kernel reports why when it opens the files
      }
      progress(Math.min(file.size, start + PIECE));
    }
    return "";
  }
}

function base64(part: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error("NotReadableError"));
    reader.readAsDataURL(part);
  });
}
