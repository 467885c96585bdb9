import type { UserStatus } from "../client/iris-api.js";
import { spendOf } from "../scheduling/fair-share.js";
import type { Controller } from "./controller.js";

/** What the users with running tasks or a budget use and may use, by name. */
export function userStatuses(controller: Controller): UserStatus[] {
  const spend = new Map<string, number>([...controller.budgets.keys()].map((user) => [user, 0]));
  for (const { user, band, resources } of controller.workers.placed()) {
    // What counts as BATCH costs nothing.
    if (band !== "BATCH") spend.set(user, (spend.get(user) ?? 0) + spendOf(resources));
    else if (!spend.has(user)) spend.set(user, 0);
  }
  return [...spend]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([user, used]) => {
      const budget = controller.budgets.get(user);
      return { user, spend: used, ...(budget === undefined ? {} : { budget }) };
    });
}
