import { setTimeout as delay } from 'node:timers/promises'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { ATTACKERS_NICENESS } from './support/hostile/attack.ts'
import { attacks, parseAttackNames } from './support/hostile/attacks.ts'
import { type Observed, joinObserved, mbOf, timesOf } from './support/hostile/figures.ts'
import { type HostileWorld, withHostileWorld } from './support/hostile/world.ts'

export const options = {
  attacks: { type: 'string' },
  seconds: { type: 'string' },
  quiet: { type: 'string' },
} as const

const WARM_UP_S = 5
/** The remaining work of an attack ends before the next quiet time. */
const CALM_MS = 3000
const MEMORY_LIMIT_MB = 600
const RATIO_LIMIT = 2

/**
 * Measures the effect of each attack on a well-behaved tenant: its calls, its deliveries and the joins of its devices
 * under the attack, and directly before it without, and the memory of the server. Real attackers bring their own
 * processors, so theirs run at a lower priority than the server, the database and the tenant.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const names = parseAttackNames(typeof values['attacks'] === 'string' ? values['attacks'] : undefined)
  const [seconds, quietS] = [parseCount(values, 'seconds', 15), parseCount(values, 'quiet', 15)]
  return withHostileWorld(names, async (world) => {
    await world.prepare(names)
    await world.tenant.observe(WARM_UP_S)
    const quiet: Observed[] = []
    const figures: Record<string, AttackFigures> = {}
    for (const name of names) {
      const before = await world.tenant.observe(quietS)
      quiet.push(before)
      figures[name] = await measure(world, name, { before, seconds })
      console.log(`${name}: ${JSON.stringify(figures[name])}`)
      await delay(CALM_MS)
    }
    const over = Object.entries(figures).filter(([, { p99_ratio }]) => p99_ratio > RATIO_LIMIT)
    const large = Object.entries(figures).filter(([, { memory_mb }]) => memory_mb > MEMORY_LIMIT_MB)
    return {
      attackers_niceness: ATTACKERS_NICENESS,
      quiet: summaryOf(joinObserved(quiet)),
      ...figures,
      over_ratio: over.map(([name]) => name),
      over_memory: large.map(([name]) => name),
      logged: world.logged,
    }
  })
}

interface AttackFigures extends Figures {
  readonly p99_ratio: number
  readonly memory_mb: number
}

async function measure(
  { tenant, start, stop }: HostileWorld,
  name: string,
  { before, seconds }: { readonly before: Observed; readonly seconds: number },
): Promise<AttackFigures> {
  await start([name])
  const under = await tenant.observe(seconds)
  const report = await stop()
  const [quiet, loud] = [summaryOf(before), summaryOf(under)]
  return {
    what: attacks[name]?.what,
    quiet,
    attacked: loud,
    p99_ratio: Math.round((10 * timesOf(under.calls).p99_ms) / timesOf(before.calls).p99_ms) / 10,
    memory_mb: mbOf(under.maxKb),
    with_children_mb: mbOf(under.maxWithChildrenKb),
    errors: [...new Set(under.errors)],
    acts: report[name],
  }
}

function summaryOf({ calls, deliveries, joins }: Observed): Figures {
  return { calls: { count: calls.length, ...timesOf(calls) }, deliveries: timesOf(deliveries), joins: timesOf(joins) }
}
