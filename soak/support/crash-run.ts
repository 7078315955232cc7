import type { Client } from '../../src/cli/client.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import type { FleetPace, FleetProcess } from '../../bench/support/fleet-process.ts'
import type { Interruption } from './interruption.ts'
import { createOrg } from './create-org.ts'
import type { PlanRollouts } from './plan-rollouts.ts'
import type { Random } from './random.ts'
import type { Service } from './service.ts'

export interface CrashPlan {
  readonly seed: number
  readonly devices: number
  readonly sites: number
  /** The number of rollouts; more follow if not all interruptions have happened by then. */
  readonly upgrades: number
  /** Plans the next rollouts, once the previous ones have ended. */
  readonly rollouts: PlanRollouts
  readonly interruptions: (random: Random) => readonly Interruption[]
  /** The maximum number of times that each device connects before the first upgrade. */
  readonly reconnects: number
  readonly soakS: number
  readonly imageBytes: number
  readonly pace: FleetPace
  /** A rollout that has not ended within this time is a failure. */
  readonly upgradeWithinMs: number
}

/** The parts of one run. */
export interface Run {
  readonly plan: CrashPlan
  readonly random: Random
  readonly service: Service
  readonly fleet: FleetProcess
  readonly devices: readonly PlannedDevice[]
  readonly say: (line: string) => void
  client: Client
  orgId: string
  /** By the places in which plans name them. */
  siteIds: readonly string[]
  /** The interruptions that are still ahead. */
  interruptions: readonly Interruption[]
  /** How often a rollout was resumed whose gate had met no success. */
  resumed: number
}

type Bare = Omit<Run, 'client' | 'orgId' | 'siteIds' | 'interruptions' | 'resumed'>

/** Creates an organization with its sites, and claims the devices and distributes them over the sites. */
export async function setUp(bare: Bare): Promise<Run> {
  const { plan, random, service, devices } = bare
  const { operator, client, orgId } = await createOrg(service)
  const org = `/api/v1/orgs/${orgId}`
  const manifest = devices.map(({ mac, serial, model, type }, index) => ({
    mac,
    serial,
    model,
    type,
    claim_code: `SOAK0${String(index).padStart(5, '0')}00000`,
  }))
  await operator.call('POST', '/operator/v1/manifest', { devices: manifest })
  await client.call(
    'POST',
    `${org}/inventory`,
    manifest.map(({ claim_code }) => claim_code),
  )
  const siteIds: string[] = []
  for (let site = 0; site < plan.sites; site += 1) {
    const { id } = (await client.call('POST', `${org}/sites`, { name: `Site ${site + 1}` })) as { readonly id: string }
    const macs = devices.filter((_, index) => index % plan.sites === site).map(({ mac }) => mac)
    await client.call('PUT', `${org}/inventory`, { op: 'assign', site_id: id, macs })
    siteIds.push(id)
  }
  return { ...bare, client, orgId, siteIds, interruptions: plan.interruptions(random), resumed: 0 }
}
