/** Schemas of arguments that several tools share. */
import { z } from "zod";

export const WAIT_SECONDS_MAX = 3600;

const waitRule = `must be a number from 0 to ${WAIT_SECONDS_MAX}`;

export const waitSeconds = z.number(waitRule).min(0, waitRule).max(WAIT_SECONDS_MAX, waitRule);

export const taskId = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(256, "must be at most 256 characters")
  .meta({ description: "Of an earlier result; req-… before acceptance" });

export const fileName = z
  .string("must be a string")
  .meta({ description: "Plain name, up to 120 characters, no folder; the extension is added" });
