/** The connection to the kernel, for every component below the app. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Link } from "./link.ts";

export const LinkContext = createContext<Link | null>(null);

export function useLink(): Link {
  const link = useContext(LinkContext);
  if (!link) throw new Error("no connection to the kernel above this component");
  return link;
}
