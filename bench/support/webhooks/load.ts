import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { OrgScope } from '../../../src/access/scope.ts'
import type { Context } from '../../../src/platform/context.ts'
import type { Child } from '../child.ts'
import type { ReceiverReport } from './receiver.ts'
import { addEvent, reportOf } from './engine.ts'

export function percentiles(values: readonly number[]): Record<string, number | undefined> {
  const inOrder = values.toSorted((a, b) => a - b)
  const at = (share: number) => inOrder[Math.min(Math.floor(share * inOrder.length), inOrder.length - 1)]
  return { p50_ms: at(0.5), p90_ms: at(0.9), p99_ms: at(0.99), worst_ms: at(1) }
}

export async function untilDrained(ctx: Context): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ busy: boolean }>`
      select exists (select from webhook_outbox) or exists (select from webhook_message) as busy
    `.execute(ctx.db)
    if (rows[0]?.busy === false) return
    await delay(50)
  }
}

/** Commits events at a steady rate. @returns How many. */
export async function load(
  ctx: Context,
  orgs: readonly OrgScope[],
  { eventsPerS, seconds }: { readonly eventsPerS: number; readonly seconds: number },
): Promise<number> {
  const gapMs = 1000 / (orgs.length * eventsPerS)
  const began = performance.now()
  let events = 0
  const made: Promise<void>[] = []
  while (performance.now() - began < seconds * 1000) {
    const scope = orgs[events % orgs.length]
    if (scope !== undefined) made.push(addEvent(ctx, scope))
    events += 1
    const waitMs = began + events * gapMs - performance.now()
    if (waitMs > 0) await delay(waitMs)
  }
  await Promise.all(made)
  return events
}

/** Waits for the expected events, or half a minute. */
export async function reportWhen(receiver: Child, expected: number): Promise<ReceiverReport> {
  let report = await reportOf(receiver)
  for (let waits = 0; report.healthyMs.length < expected && waits < 300; waits += 1) {
    await delay(100)
    report = await reportOf(receiver)
  }
  return report
}
