import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Kill, type KillableAgent, listBrokenFiles } from './killable-agent.ts'

/** An agent, and how to name its machine at the interface. */
export interface Machine {
  readonly agent: KillableAgent
  /** The id of the edge appliance, or of the router. */
  readonly id: string
}

export interface Ended {
  readonly status: string
  /** The number of events that report the end of the command. */
  readonly events: number
  /** Further problems. */
  readonly problems?: readonly string[]
}

export interface Scenario {
  readonly name: string
  /** The commands of the operator that have to run exactly once, whenever the agent is killed. */
  readonly once: readonly string[]
  /** The points of commands that may run again, from their beginning, after a kill. */
  readonly repeated: readonly string[]
  /** Its agent has been started, except where the scenario registers. */
  readonly newMachine: () => Promise<Machine>
  /** Each trial gets a new machine, because its registration is the subject. */
  readonly registers?: true
  /** Orders a command. @returns A function that resolves when it has ended. */
  order(machine: Machine, trial: number): Promise<() => Promise<Ended>>
}

/** The course of one command. */
export interface Trial {
  readonly scenario: string
  /** The points at which the agent was killed, in order. */
  readonly kills: readonly Kill[]
  /** The problems; empty: none. */
  readonly problems: readonly string[]
}

/** The number of occurrences of a point that are tried: the two commands of an upgrade pass most points twice. */
const MAX_OCCURRENCES = 2

/**
 * Runs the command of the scenario undisturbed first, then once for each point that it has passed, at which the agent
 * is killed, and so on for the points that only a restarted agent passes.
 */
export async function runTrials(scenario: Scenario): Promise<Trial[]> {
  const trials: Trial[] = []
  const machines: Machine[] = []
  try {
    const known = new Set<string>()
    const points = new Set<string>()
    const plan: Kill[][] = [[]]
    // The plan grows.
    for (const kills of plan) {
      const isNew = scenario.registers === true || machines.length === 0
      const machine = isNew ? await scenario.newMachine() : machines.at(-1)
      if (machine === undefined) throw new Error('there is no machine')
      if (isNew) machines.push(machine)
      const attempt = { kills, number: trials.length }
      const { problems, passed } = await tryOnce(scenario, machine, attempt).catch((error: unknown) => ({
        problems: [String(error)],
        passed: [],
      }))
      trials.push({ scenario: scenario.name, kills, problems })
      if (problems.length > 0) break
      for (const kill of occurrencesOf(passed)) {
        if (known.has(kill.join(' ')) || (kills.length > 0 && points.has(kill[0]))) continue
        known.add(kill.join(' '))
        points.add(kill[0])
        plan.push([...kills, kill])
      }
    }
  } finally {
    for (const { agent } of machines) await agent.end()
  }
  return trials
}

function occurrencesOf(passed: readonly Kill[0][]): Kill[] {
  return [...Map.groupBy(passed, (point) => point)].flatMap(([point, all]) =>
    all.slice(0, MAX_OCCURRENCES).map((_, index): Kill => [point, index + 1]),
  )
}

interface Attempt {
  readonly kills: readonly Kill[]
  readonly number: number
}

async function tryOnce(scenario: Scenario, machine: Machine, { kills, number }: Attempt) {
  const { agent } = machine
  const { folder, machine: place } = agent.settings
  const [first = null, ...later] = kills
  const problems: string[] = []
  const notesBefore = await readNotes(place)
  let key: string | null = null
  if (scenario.registers === true) agent.start(first)
  else {
    await agent.untilSettled()
    await agent.arm(first)
  }
  const untilEnded = await scenario.order(machine, number)
  if (first !== null) await agent.untilKilled()
  for (const kill of later) {
    problems.push(...(await listBrokenFiles(folder)))
    agent.start(kill)
    await agent.untilKilled()
  }
  if (first !== null) {
    problems.push(...(await listBrokenFiles(folder)))
    key = await readKey(folder)
    agent.start(null)
    // It has answered by then; querying the interface first would take longer.
    await agent.untilSettled()
  }
  const { status, events, problems: found = [] } = await untilEnded()
  if (status !== 'done') problems.push(`the command is ${status}`)
  if (events !== 1) problems.push(`${events} events say that the command has ended`)
  problems.push(...found)
  if (key !== null && key !== (await readKey(folder))) problems.push('the agent made another key')
  const { passed } = await agent.untilSettled()
  const notes = (await readNotes(place)).slice(notesBefore.length)
  problems.push(...findMisrun(scenario, notes, first === null))
  const left = (await readdir(folder)).filter((name) => /^support-|^running-hook/.test(name))
  if (left.length > 0) problems.push(`${left.join(' ')} was left behind`)
  return { problems, passed }
}

function readKey(folder: string): Promise<string | null> {
  return readFile(join(folder, 'key.pem'), 'utf8').catch(() => null)
}

async function readNotes(place: string): Promise<string[]> {
  return (await readFile(join(place, 'notes'), 'utf8')).split('\n').filter((line) => line !== '')
}

function findMisrun({ once, repeated }: Scenario, notes: readonly string[], isUndisturbed: boolean): string[] {
  const count = (line: string): number => notes.filter((each) => each === line).length
  const allowed = new Set([...once, ...repeated].flatMap((what) => [`begin ${what}`, `end ${what}`]))
  return [
    ...notes.filter((line) => !allowed.has(line)),
    ...[...once, ...repeated]
      .filter((what) => count(`begin ${what}`) !== count(`end ${what}`))
      .map((what) => `${what} has begun and not ended: ${notes.join(', ')}`),
    ...[...once, ...(isUndisturbed ? repeated : [])]
      .filter((what) => count(`end ${what}`) !== 1)
      .map((what) => `${what} ran ${count(`end ${what}`)} times`),
    ...repeated.filter((what) => count(`end ${what}`) === 0).map((what) => `${what} never ran`),
  ]
}
