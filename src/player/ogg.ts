/** Cuts Ogg Opus between pages, and rewrites the times and checksums of the pages. */
import { concatBytes } from "./concat-bytes.ts";
import { type Cutter, DamagedFileError, readChunkTag, toDataView } from "./segment-reader.ts";

interface Page {
  readonly pageOffset: number;
  readonly length: number;
  /** The granule position of the page, in samples at 48 kHz; -1 if no packet ends on the page. */
  readonly granule: number;
  /** True if the page begins with the rest of a packet. */
  readonly isContinued: boolean;
}

const SAMPLE_RATE_HZ = 48_000;

function parsePageAt(bytes: Uint8Array, pageOffset: number): Page | null {
  if (pageOffset + 27 > bytes.length || readChunkTag(bytes, pageOffset) !== "OggS") return null;
  const lacing = bytes.subarray(pageOffset + 27, pageOffset + 27 + (bytes[pageOffset + 26] ?? 0));
  const length = 27 + lacing.length + lacing.reduce((sum, value) => sum + value, 0);
  if (pageOffset + length > bytes.length) return null;
  const granule = Number(toDataView(bytes).getBigInt64(pageOffset + 6, true));
  return { pageOffset, length, granule, isContinued: ((bytes[pageOffset + 5] ?? 0) & 1) === 1 };
}

function splitPages(bytes: Uint8Array): Page[] {
  const pages: Page[] = [];
  for (let pageOffset = 0; pageOffset < bytes.length; ) {
    const page = parsePageAt(bytes, pageOffset);
    if (page !== null) pages.push(page);
    pageOffset += page?.length ?? 1;
  }
  return pages;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let sum = index << 24;
  for (let bit = 0; bit < 8; bit += 1) sum = (sum << 1) ^ (sum < 0 ? 0x04c11db7 : 0);
  return sum;
});

function writeChecksum(page: Uint8Array): void {
  const view = toDataView(page);
  view.setUint32(22, 0, true);
  let sum = 0;
  for (const byte of page) sum = (sum << 8) ^ (CRC_TABLE[(sum >>> 24) ^ byte] ?? 0);
  view.setUint32(22, sum >>> 0, true);
}

/**
 * Creates the cutter of an Ogg Opus file.
 *
 * @param head the beginning of the file, with both header packets
 */
export function createOggCutter(head: Uint8Array, sizeBytes: number, statedSeconds: number | null): Cutter {
  const [identificationPage, ...laterPages] = splitPages(head);
  const opusHeadOffset = 28;
  if (identificationPage?.pageOffset !== 0 || readChunkTag(head, opusHeadOffset) !== "Opus")
    throw new DamagedFileError();
  const tags = laterPages.find(({ granule }) => granule === 0);
  if (tags === undefined) throw new DamagedFileError();
  const start = tags.pageOffset + tags.length;
  const preSkipSamples = toDataView(head).getUint16(opusHeadOffset + 10, true);
  const toSeconds = (granule: number): number => Math.max(0, granule - preSkipSamples) / SAMPLE_RATE_HZ;
  const headers = head.slice(0, start);
  // Set the pre-skip of segments to 0, because `leadInSeconds` already states how much sound must not be heard.
  toDataView(headers).setUint16(opusHeadOffset + 10, 0, true);
  writeChecksum(headers.subarray(0, identificationPage.length));

  return {
    startOffset: start,
    endOffset: sizeBytes,
    durationSeconds: statedSeconds,
    segmentBytes: 256 * 1024,
    // Bytes to read before the segment: enough for two pages of maximum size. The first page states the time at which
    // the second page begins. The decoder converges while it decodes the second page, so that the segment sounds right
    // from its beginning.
    bytesBefore: 132_000,
    bytesAfter: 66_000,
    cut(bytes, offset, begin, end) {
      const pages = splitPages(bytes);
      const isCut = ({ pageOffset, isContinued }: Page, edge: number): boolean =>
        pageOffset + offset >= edge && !isContinued;
      const firstPageIndex = pages.findIndex((page) => isCut(page, begin));
      const endPageIndex = pages.findIndex((page) => isCut(page, end));
      const stop = endPageIndex === -1 ? pages.length : endPageIndex;
      if (firstPageIndex === -1 || stop <= firstPageIndex) throw new DamagedFileError();
      /** Returns the granule position at which a page begins: the last position that an earlier page states. */
      const getStartGranule = (index: number): number =>
        pages.slice(0, index).reduce((last, { granule }) => Math.max(last, granule), 0);
      // Begin with an earlier page that starts with a whole packet, so that the decoder can converge.
      let leadInPageIndex = firstPageIndex;
      while (
        leadInPageIndex > 0 &&
        (leadInPageIndex === firstPageIndex || pages[leadInPageIndex]?.isContinued)
      )
        leadInPageIndex -= 1;
      if (offset > start && leadInPageIndex === 0) leadInPageIndex = firstPageIndex;
      const baseGranule = offset === start && leadInPageIndex === 0 ? 0 : getStartGranule(leadInPageIndex);
      const chosenPages = pages.slice(leadInPageIndex, Math.min(pages.length, stop + 2));
      const rewrittenPages = chosenPages.map(({ pageOffset, length, granule }, index) => {
        const page = bytes.slice(pageOffset, pageOffset + length);
        const view = toDataView(page);
        if (granule >= 0) view.setBigInt64(6, BigInt(granule - baseGranule), true);
        view.setUint32(18, index + 2, true);
        page[5] = (page[5] ?? 0) & 1;
        writeChecksum(page);
        return page;
      });
      const isFirst = baseGranule === 0;
      // At the beginning of the file, the samples of the pre-skip must not be heard.
      const startGranule = firstPageIndex === 0 && isFirst ? preSkipSamples : getStartGranule(firstPageIndex);
      return {
        startSeconds: toSeconds(startGranule),
        endSeconds: toSeconds(getStartGranule(stop)),
        leadInSeconds: (startGranule - baseGranule) / SAMPLE_RATE_HZ,
        bytes: concatBytes(headers, ...rewrittenPages),
        mimeType: "audio/ogg",
      };
    },
  };
}
