import { readFileSync, readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { ATTACKERS_NICENESS, type AttackReport, type AttackRun, type AttackerCommand, type World } from './attack.ts'
import { attacks } from './attacks.ts'

// The attackers, in a separate process. The first argument is a file with the World. It executes each AttackerCommand.

const world = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as World
const running: { readonly over: AbortController; readonly end: Promise<void> }[] = []
let counts: Record<string, Record<string, number>> = {}

function runOf(name: string, signal: AbortSignal): AttackRun {
  const tenant = world.tenants[name]
  if (tenant === undefined) throw new Error(`the attack ${name} has no tenant`)
  const outcomes = (counts[name] ??= {})
  return { world, tenant, signal, count: (outcome) => void (outcomes[outcome] = (outcomes[outcome] ?? 0) + 1) }
}

async function obey({ kind, names }: AttackerCommand): Promise<AttackReport> {
  if (kind === 'prepare')
    for (const name of names) await attacks[name]?.prepare?.(runOf(name, new AbortController().signal))
  if (kind === 'start') {
    counts = {}
    for (const name of names) {
      const over = new AbortController()
      running.push({ over, end: attacks[name]?.run(runOf(name, over.signal)) ?? Promise.resolve() })
    }
  }
  if (kind !== 'stop') return {}
  const ending = running.splice(0)
  for (const { over } of ending) over.abort()
  await Promise.all(ending.map(({ end }) => end))
  return counts
}

// Any error of an attack is a defect of the benchmark, which ends with it.
process.on('message', (command: AttackerCommand) => void obey(command).then((report) => process.send?.(report)))
process.once('disconnect', () => process.exit(0))
process.once('SIGINT', () => process.exit(0))
const niceness = Math.min(constants.priority.PRIORITY_LOW, getPriority() + ATTACKERS_NICENESS)
// On Linux a priority is that of a thread, which those that it starts inherit. Node has started some already.
if (process.platform === 'linux') for (const id of readdirSync('/proc/self/task')) setPriority(Number(id), niceness)
else setPriority(niceness)
process.stdout.write('attackers ready\n')
