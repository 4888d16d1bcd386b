/** Replaces a bare web address by its host, because nobody wants to hear the rest. */

const WEB_ADDRESS =
  /\b(?:https?:\/\/|www\.)(?:[^\s<>"'“”‘’«»「」『』（）()[\]{}，。；：！？、]|(?<=\w)\([\w%.-]{1,80}\))+/gi;
/** Marks at the end of an address that belong to the sentence around it. */
const TRAILING_MARKS = /[.,;:!?…*_~]+$/;

/** Returns the host of an address, without `www.`. Returns a text without a host unchanged. */
export function extractHost(address: string): string {
  const host = /^(?:https?:\/\/)?(?:[^/?#@]*@)?([^/?#:]+)/i.exec(address)?.[1] ?? "";
  return host === "" ? address : host.replace(/^www\./i, "").toLowerCase();
}

/** Replaces every bare address in a text by its host. */
export function shortenAddresses(text: string): string {
  if (!/:\/\/|www\./i.test(text)) return text;
  return text.replace(WEB_ADDRESS, (found) => {
    const trailing = TRAILING_MARKS.exec(found)?.[0] ?? "";
    return extractHost(found.slice(0, found.length - trailing.length)) + trailing;
  });
}
