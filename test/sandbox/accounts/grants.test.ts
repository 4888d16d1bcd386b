/** The credit rules, without storage. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  endReservation,
  type Grant,
  hasUnlockingGrant,
  planReservation,
  reserve,
  sumAvailableCredits,
} from "../../../src/sandbox/accounts/grants.ts";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const PAST = "2026-05-31T23:59:59Z";
const SOON = "2026-06-02T00:00:00Z";
const LATER = "2026-12-01T00:00:00Z";

const grant = (fields: Partial<Grant>): Grant => ({
  kind: "pack",
  credits: 1000,
  state: "paid",
  reserved: 0,
  charged: 0,
  ...fields,
});

describe("grants", () => {
  it.each([
    ["a paid pack", true, [grant({})]],
    ["a paid subscription period", true, [grant({ kind: "subscription", expires_at: SOON })]],
    ["a paid pack whose credits are used up", true, [grant({ credits: 10, charged: 10 })]],
    ["gifts alone", false, [grant({ kind: "gift" })]],
    ["nothing", false, []],
    ["a refunded pack", false, [grant({ state: "refunded" })]],
    ["a disputed subscription period", false, [grant({ kind: "subscription", state: "disputed" })]],
    ["an expired pack", false, [grant({ expires_at: PAST })]],
    [
      "a refunded pack beside a paid subscription",
      true,
      [grant({ state: "refunded" }), grant({ kind: "subscription" })],
    ],
  ] as const)("%s, unlocked: %s", (_, expected, grants) => {
    expect(hasUnlockingGrant(grants, NOW)).toBe(expected);
  });

  it("counts gifts as credits, and refunded, disputed and expired grants as none", () => {
    const grants = [
      grant({ credits: 100, reserved: 30, charged: 20 }),
      grant({ kind: "gift", credits: 5 }),
      grant({ state: "refunded" }),
      grant({ state: "disputed" }),
      grant({ expires_at: PAST }),
    ];
    expect(sumAvailableCredits(grants, NOW)).toBe(55);
  });

  it("draws the earliest expiry first, and grants without expiry last", () => {
    const endless = grant({ credits: 100 });
    const late = grant({ credits: 60, expires_at: LATER });
    const soon = grant({ credits: 50, expires_at: SOON });
    const grants = [endless, late, soon, grant({ credits: 500, expires_at: PAST }), grant({ credits: 100 })];
    const grantReservations = planReservation(grants, 150, NOW);
    expect(grantReservations?.map(({ grant: drawn, credits }) => [grants.indexOf(drawn), credits])).toEqual([
      [2, 50],
      [1, 60],
      [0, 40],
    ]);
  });

  it("draws nothing when one credit is missing", () => {
    expect(planReservation([grant({ credits: 149 })], 150, NOW)).toBeUndefined();
    expect(planReservation([grant({ credits: 150 })], 150, NOW)).toHaveLength(1);
  });

  it("compares expiry dates as instants, whatever their offsets", () => {
    const later = grant({ credits: 150, expires_at: "2026-06-02T01:00:00+00:00" });
    const earlier = grant({ credits: 150, expires_at: "2026-06-02T02:00:00+02:00" });
    expect(planReservation([later, earlier], 150, NOW)?.[0]?.grant).toBe(earlier);
  });

  it("conserves every credit of any draw and any charge", () => {
    const anyGrants = fc
      .array(
        fc.record({
          credits: fc.nat(400),
          kind: fc.constantFrom("pack", "subscription", "gift"),
          state: fc.constantFrom("paid", "paid", "refunded", "disputed"),
          expires_at: fc.constantFrom(PAST, SOON, LATER),
        }),
        { maxLength: 6 },
      )
      .map((list) => list.map(grant));
    fc.assert(
      fc.property(anyGrants, fc.nat(150), (grants, charge) => {
        const sum = (field: "reserved" | "charged"): number =>
          grants.reduce((total, one) => total + one[field], 0);
        const available = sumAvailableCredits(grants, NOW);
        const grantReservations = planReservation(grants, 150, NOW);
        expect(grantReservations === undefined).toBe(available < 150);
        if (grantReservations === undefined) return;
        reserve(grantReservations);
        expect([sum("reserved"), sumAvailableCredits(grants, NOW)]).toEqual([150, available - 150]);
        for (const one of grants) expect(one.reserved).toBeLessThanOrEqual(one.credits);
        endReservation(grantReservations, charge);
        expect([sum("reserved"), sum("charged")]).toEqual([0, charge]);
        expect(sumAvailableCredits(grants, NOW)).toBe(available - charge);
        for (const { grant: drawn, credits } of grantReservations)
          expect(drawn.charged).toBeLessThanOrEqual(credits);
      }),
    );
  });
});
