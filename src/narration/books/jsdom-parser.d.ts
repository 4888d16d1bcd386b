/** Declares the small DOM that comes with the reader view, because the package declares the types of its index alone. */
declare module "@mozilla/readability/JSDOMParser.js" {
  export default class JSDOMParser {
    /** Called for text that is not well-formed. The original writes to standard output. */
    error: (message: string) => void;
    /** @returns a document, which only the reader view can use */
    parse(xml: string): Document;
  }
}
