import { randomInt } from 'node:crypto'
import { ATTACKERS_NICENESS } from '../bench/support/hostile/attack.ts'
import { attacks, parseAttackNames } from '../bench/support/hostile/attacks.ts'
import { type Observed, joinObserved, judge, mbOf, timesOf } from '../bench/support/hostile/figures.ts'
import { withHostileWorld } from '../bench/support/hostile/world.ts'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { parseMixes, planMixes, repeatMixes } from './support/plan-mixes.ts'
import { createRandom } from './support/random.ts'
import { messageOf } from '../src/platform/message-of.ts'

export const options = {
  seed: { type: 'string' },
  seconds: { type: 'string' },
  mix: { type: 'string' },
  together: { type: 'string' },
  attacks: { type: 'string' },
  mixes: { type: 'string' },
  'p99-ms': { type: 'string' },
  'memory-mb': { type: 'string' },
} as const

/**
 * Attacks a server for ten minutes in changing mixes, while a well-behaved tenant works beside the attackers: it reads and
 * changes, receives webhooks, and its devices connect. It must get no error, its p99 and the server's memory must stay
 * under their limits in each mix, and the server must neither answer 500 nor log an error. Attackers run at a lower
 * priority, as in the benchmark.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const seed = parseCount(values, 'seed', randomInt(1, 2 ** 31))
  const mixS = parseCount(values, 'mix', 30)
  const mixes = Math.ceil(parseCount(values, 'seconds', 600) / mixS)
  const demands = { p99Ms: parseCount(values, 'p99-ms', 1000), memoryMb: parseCount(values, 'memory-mb', 600) }
  const plan = planOf(values, { seed, mixes })
  const names = [...new Set(plan.flat())]
  console.log(`seed ${seed}`)
  for (const name of names) console.log(`${name}: ${attacks[name]?.what}`)
  return withHostileWorld(names, async ({ tenant, prepare, start, stop, logged }) => {
    await prepare(names)
    const seen: Observed[] = []
    const acts: Record<string, Record<string, number>> = {}
    const failed: string[] = []
    for (const mix of plan) {
      const title = mix.join(' + ')
      const linesBefore = logged.length
      try {
        await start(mix)
        const observed = await tenant.observe(mixS)
        seen.push(observed)
        const report = await stop()
        for (const [name, counts] of Object.entries(report)) acts[name] = add(acts[name] ?? {}, counts)
        console.log(`${title}: ${JSON.stringify(summaryOf(observed))}`)
        failed.push(...nameDefects(title, [...judge(observed, report, demands), ...logged.slice(linesBefore)]))
      } catch (error) {
        failed.push(...nameDefects(title, [messageOf(error)]))
        break
      }
    }
    return { seed, mixes, attackers_niceness: ATTACKERS_NICENESS, ...summaryOf(joinObserved(seen)), acts, failed }
  })
}

/** Plans the given mixes in turn, or otherwise random ones. */
function planOf(
  values: OptionValues,
  { seed, mixes }: { readonly seed: number; readonly mixes: number },
): readonly (readonly string[])[] {
  if (typeof values['mixes'] === 'string') return repeatMixes(parseMixes(values['mixes']), mixes)
  const names = parseAttackNames(typeof values['attacks'] === 'string' ? values['attacks'] : undefined)
  return planMixes(createRandom(seed), names, { mixes, together: parseCount(values, 'together', 4) })
}

/** Prints the defects at once, because a long run may be ended before its figures. */
function nameDefects(title: string, defects: readonly string[]): string[] {
  const named = [...new Set(defects)].map((defect) => `${title}: ${defect}`)
  for (const line of named) console.log(`FAILED ${line}`)
  return named
}

function add(counts: Record<string, number>, more: Readonly<Record<string, number>>): Record<string, number> {
  for (const [outcome, times] of Object.entries(more)) counts[outcome] = (counts[outcome] ?? 0) + times
  return counts
}

function summaryOf({ calls, deliveries, joins, errors, maxKb, maxWithChildrenKb }: Observed): Figures {
  return {
    calls: { count: calls.length, ...timesOf(calls) },
    deliveries: { count: deliveries.length, ...timesOf(deliveries) },
    joins: { count: joins.length, ...timesOf(joins) },
    errors: errors.length,
    memory_mb: mbOf(maxKb),
    with_children_mb: mbOf(maxWithChildrenKb),
  }
}
