import { setTimeout as wait } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { Appliance } from '../../src/agent/appliance.ts'
import { dryRunAppliance, readDryRun } from '../../src/agent/dry-run.ts'
import { createEdgeRole } from '../../src/agent/edge-role.ts'
import type { RoleParts } from '../../src/agent/role.ts'
import { type AgentOptions, runAgent } from '../../src/agent/run-agent.ts'
import { openState } from '../../src/agent/state.ts'
import { addMxedge } from '../support/fleets/mxedges.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'
import type { EdgeWorld } from './world.ts'

export interface StartedAgent {
  readonly id: string
  readonly folder: string
  /** Resolves with how the agent has ended. */
  readonly ended: Promise<'stopped' | 'unregistered'>
  readonly stop: () => Promise<unknown>
}

export interface StartOptions extends Partial<AgentOptions> {
  readonly code?: string
  readonly folder?: string
  readonly applianceOf?: (parts: RoleParts) => Appliance
}

/** Starts a real agent that changes nothing on this machine, in this process. */
export async function startAgent(
  world: EdgeWorld,
  { code, folder, applianceOf = ({ state }) => dryRunAppliance(state), ...options }: StartOptions = {},
): Promise<StartedAgent> {
  const made = code === undefined ? await addMxedge(world) : null
  const place = folder ?? (await temporaryDir())
  const stopping = new AbortController()
  const ended = runAgent({
    folder: place,
    roleOf: (parts) => createEdgeRole(parts, applianceOf(parts)),
    registration: { url: world.url, code: code ?? made?.magic },
    version: '0.1.0',
    log: () => {},
    signal: stopping.signal,
    ...options,
  })
  const stop = (): Promise<unknown> => {
    stopping.abort()
    return ended.catch(() => wait(0))
  }
  onTestFinished(() => void stop())
  return { id: made?.id ?? '', folder: place, ended, stop }
}

export async function doneBy(folder: string): Promise<readonly string[]> {
  return (await readDryRun(await openState(folder))).done
}

export function untilConnected(world: EdgeWorld, id: string): Promise<unknown> {
  return waitUntil('the agent is connected and configured', async () => {
    const { body } = await world.call('GET', `/orgs/${world.org.orgId}/mxedges/${id}/commands`)
    return body.some(({ kind, status }: { kind: string; status: string }) => kind === 'configure' && status === 'done')
  })
}
