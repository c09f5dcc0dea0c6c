/** Features that jsdom lacks and CodeMirror needs: sizes of text, which are all zero here. */

import { cleanup } from "@testing-library/preact";
import { afterEach } from "vitest";

const nothing = { left: 0, right: 0, top: 0, bottom: 0, x: 0, y: 0, width: 0, height: 0, toJSON: () => ({}) };

Range.prototype.getClientRects = () => [] as unknown as DOMRectList;
Range.prototype.getBoundingClientRect = () => nothing as DOMRect;
Element.prototype.setPointerCapture = () => undefined;
Element.prototype.hasPointerCapture = () => true;
Element.prototype.scrollTo = () => undefined;

afterEach(cleanup);
