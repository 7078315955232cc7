// An agent whose runner kills it at points: it runs the commands of machine.sh. Its options are the first argument, as JSON.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import type { Point } from '../../../src/agent/points.ts'
import { runAgent } from '../../../src/agent/run-agent.ts'
import type { AgentSettings, AgentStatus, Kill } from './killable-agent.ts'
import { bootOf, roleOfMachine } from './machine-roles.ts'

const settings = JSON.parse(process.argv[2] ?? '') as AgentSettings
const { machine } = settings

let armed: Kill | null = settings.kill
let passed: Point[] = []
let connectedBoot: string | null = null

function onPoint(point: Point): void {
  passed.push(point)
  const [at, occurrence] = armed ?? []
  const isTurn = passed.filter((each) => each === point).length === occurrence
  // A hook that still runs when the agent starts again can overlap with its repetition.
  if (point === 'hook recorded' && at === 'hook begun' && isTurn) writeFileSync(join(machine, 'hold'), '')
  if (point === 'earlier hook awaited') rmSync(join(machine, 'hold'), { force: true })
  if (point === at && isTurn) process.kill(process.pid, 'SIGKILL')
}

/** False while an answer may be sent again. */
function isEverythingDelivered(): boolean {
  const folder = join(settings.folder, 'commands')
  const records = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return records.every((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).delivered === true)
}

process.once('disconnect', () => process.exit())
process.on('message', (message: { readonly arm?: Kill | null }) => {
  if (message.arm !== undefined) {
    armed = message.arm
    passed = []
  }
  const status: AgentStatus = { passed, isSettled: connectedBoot === bootOf(settings) && isEverythingDelivered() }
  process.send?.(status)
})

await runAgent({
  folder: settings.folder,
  roleOf: (parts) => roleOfMachine(settings, parts),
  registration: { url: settings.url, code: settings.code },
  version: '0.1.0',
  log(what) {
    if (what === 'connected') {
      connectedBoot = bootOf(settings)
      // Node would store the compiled program only at an orderly end, and hundreds of agents are killed.
      flushCompileCache()
    }
    if (what === 'disconnected') connectedBoot = null
  },
  signal: new AbortController().signal,
  onPoint,
})
