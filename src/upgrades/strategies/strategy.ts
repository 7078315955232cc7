import type { Static, TObject, TProperties } from 'typebox'
import type { DeviceType } from '../../events/device-type.ts'
import type { PhaseGate, PhaseScope, UpgradeNote } from '../../rollout/rollout.ts'
import type { RadioFactsByMac } from '../radio/radio.ts'
import type { Steps } from '../../platform/queues/next-turn.ts'
import type { Orderable } from '../planning/plan-order.ts'
import type { PhaseKind } from './gate-fields.ts'

/** The facts about a target that a strategy may use. */
export interface TargetFacts extends Orderable {
  /** Empty for an edge appliance without a site. */
  readonly siteId: string
  readonly type: DeviceType | 'mxedge'
  /** The role in the device's configuration. */
  readonly role: string | null
  /** Absent: it has none. */
  readonly name?: string | null
  /** For each member of a Virtual Chassis; empty for any other device. */
  readonly memberVersions: readonly string[]
}

/** The facts that a strategy may use besides its targets. */
export interface PlanFacts {
  /** The upgrade whose targets are planned. It breaks ties in their order: see planOrderInSteps(). */
  readonly upgradeId: string
  /** The facts of the targets, if the strategy is for access points only. */
  readonly radio?: RadioFactsByMac
  /** The ids of the groups of each site, by its id. */
  readonly siteGroups?: ReadonlyMap<string, readonly string[]>
  /** By MAC: devices that are connected through a device have a lower rank. Absent: restarts have no order. */
  readonly ranks?: ReadonlyMap<string, number>
}

/** A strategy with the options of one request. */
export interface Phasing {
  /** `org`: one plan for the targets of all sites together; `site`: one for each site. */
  readonly scope: PhaseScope
  /** Devices of other types can't be upgraded like this; null: all can. */
  readonly onlyType: DeviceType | null
  /**
   * The percentage of hard failures beyond which the upgrade stops, at the site and at all sites; null: no such limit.
   */
  readonly maxFailurePercentage: number | null
  /** The cumulative shares of the phases, if the request sets them; else null. */
  readonly percents: readonly number[] | null
  /** The phase of devices that join later: the last one, or a further one for each. */
  readonly joins: 'last_phase' | 'own_phase'
  /** The parts of the request that have no effect. */
  readonly notes: readonly UpgradeNote[]
  /**
   * Puts each target into one phase. The result depends only on the facts, not on the order of `targets`.
   * @returns The targets by phase, in the order of their upgrades. Phases may be empty.
   */
  planInSteps<T extends TargetFacts>(targets: readonly T[], facts: PlanFacts): Steps<readonly (readonly T[])[]>
  /** @throws AppError invalid naming a part of the request that fits none of the devices. */
  refuseDevicesInSteps?(devices: readonly TargetFacts[], facts: PlanFacts): Steps<void>
  /** Returns notes for the record of a site upgrade about the planning of its targets. */
  noteSite?(targets: readonly TargetFacts[], facts: PlanFacts): readonly UpgradeNote[]
  /** The condition for the next phase to open, as the engine stores it; null: none. */
  gate(phase: number): PhaseGate | null
}

/** A way to cut an upgrade into phases. Everything that knows strategies takes them from a registry: see index.ts. */
export interface Strategy<Name extends string = string, Fields extends TProperties = TProperties> {
  /** As on the wire. */
  readonly name: Name
  /** The fields of the request that the strategy reads. Strategies may share a field, but then with the same schema. */
  readonly fields: Fields
  /** True if downloads can't follow it: they then begin all at once. */
  readonly onlyReboots?: boolean
  /**
   * Refuses values of the fields that no request may have with the chosen strategy.
   * @param chosen Its own name if it is that of the reboots or of the downloads; else the name of that of the reboots.
   * @throws AppError invalid
   */
  check?(body: Static<TObject<Fields>>, chosen: string): void
  /**
   * @param of The kind of phases that it makes; by default those of the reboots.
   * @throws AppError invalid naming the field that is inconsistent with this strategy.
   */
  parse(body: Static<TObject<Fields>>, of?: PhaseKind): Phasing
}

/** By name. */
export type Strategies = Readonly<Record<string, Strategy>>
