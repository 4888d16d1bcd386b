/** Speaks a bare web address as its host alone: nobody listens to the rest. */

const ADDRESS = /\b(?:https?:\/\/|www\.)[^\s<>"'“”‘’«»「」『』（）()[\]{}，。；：！？、]+/gi;
/** Marks that end the sentence around an address, not the address. */
const TRAILING = /[.,;:!?…*_~]+$/;

/** The host of an address, without `www.`; the text as it is where it is no address. */
export function hostOf(address: string): string {
  const host = /^(?:https?:\/\/)?(?:[^/?#@]*@)?([^/?#:]+)/i.exec(address)?.[1] ?? "";
  return host === "" ? address : host.replace(/^www\./i, "").toLowerCase();
}

/** Every bare address in a text replaced by its host. */
export function speakAddresses(text: string): string {
  if (!/:\/\/|www\./i.test(text)) return text;
  return text.replace(ADDRESS, (found) => {
    const trailing = TRAILING.exec(found)?.[0] ?? "";
    return hostOf(found.slice(0, found.length - trailing.length)) + trailing;
  });
}
