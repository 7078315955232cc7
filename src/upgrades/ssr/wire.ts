import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { MAX_EPOCH_S } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { START_PHASE, type StartGate, type TargetCounts, type TargetState } from '../../rollout/rollout.ts'
import { type RequestedPart, type RequestedTime, plainRequest } from '../org-upgrade.ts'
import { previewFields } from '../previews/wire.ts'
import {
  NotesReply,
  SiteUpgradesReply,
  presentNote,
  presentSiteUpgrades,
  presentState,
  presentWait,
  stateFields,
} from '../wire.ts'
import { ApprovalsReply, presentApproval } from '../changes/wire-approve.ts'
import { presentHeldNote } from '../wire-hold.ts'
import { parseEnd, parseWindows } from '../wire-parse.ts'
import { endField, includeField, nameField, presentName, supersedeField, windowFields } from '../wire-extensions.ts'
import { bigBang } from '../strategies/big-bang.ts'
import { gateField, parseStartGate } from '../strategies/gate-fields.ts'
import { serial } from '../strategies/serial.ts'
import type { SsrRequest } from './create-ssr-upgrade.ts'
import { decideStatus } from './decide-status.ts'
import type { SsrVersion, VersionChoice } from './list-ssr-versions.ts'
import { type Channel, DEFAULT_CHANNEL, type SsrUpgrade, type SsrUpgradeItem, channels } from './ssr-upgrade.ts'

const Version = Type.String({ minLength: 1, maxLength: 200 })

/** Fields that requests for an organization and for a router share. Source: contract notes, SSR. */
const commonFields = {
  ...nameField,
  channel: Type.Optional(Type.Enum([...channels], { default: DEFAULT_CHANNEL })),
  ...previewFields,
  ...windowFields,
  ...endField,
  ...supersedeField,
  phase_gates: gateField,
  start_time: Type.Optional(
    Type.Integer({ minimum: -1, maximum: MAX_EPOCH_S, description: 'epoch seconds; 0: now; -1: no download' }),
  ),
  reboot_at: Type.Optional(
    Type.Integer({
      minimum: -1,
      maximum: MAX_EPOCH_S,
      description: 'epoch seconds; 0: when the router has downloaded; -1: no reboot',
    }),
  ),
}

const strategies = { big_bang: bigBang, serial }

/** Source: contract, `ssr_upgrade_multi`. */
export const SsrUpgradeBody = named(
  'SsrUpgradeCreate',
  Type.Object({
    ...commonFields,
    device_ids: Type.Optional(
      Type.Array(Uuid, { minItems: 1, maxItems: 10_000, description: 'required, except with plan_id' }),
    ),
    strategy: Type.Optional(Type.Enum(['big_bang', 'serial'], { default: 'big_bang' })),
    version: Type.Optional(Version),
    ...includeField,
  }),
)
export type SsrUpgradeBody = Static<typeof SsrUpgradeBody>

/** Source: contract, `ssr_upgrade`. */
export const RouterUpgradeBody = named(
  'SsrRouterUpgradeCreate',
  Type.Object({ ...commonFields, version: Type.String({ ...Version, default: DEFAULT_CHANNEL }) }),
)

/** @throws AppError invalid naming a field whose value is inconsistent with the others. */
export function parseSsrUpgrade(body: SsrUpgradeBody): SsrRequest {
  const { device_ids: ids, strategy = 'big_bang', start_time: start = 0, reboot_at: reboot = 0 } = body
  if (ids === undefined) throw invalidField('device_ids', 'must name the routers, unless plan_id names a plan')
  const { version, channel, field } = parseVersion(body)
  return {
    deviceIds: [...new Set(ids.map((id) => id.toLowerCase()))],
    channel: body.channel !== undefined && version !== channel ? channel : null,
    includeNew: parseInclusion(body, start),
    request: {
      ...plainRequest,
      kind: 'ssr',
      planId: body.plan_id ?? null,
      only: parsePart({ start, reboot }),
      versions: [{ field, firmwareType: null, version, modelVersion: new Map(), force: false }],
      strategy,
      phasing: strategies[strategy].parse({}),
      startGate: parseGate(body),
      windows: parseWindows(body.maintenance_windows),
      supersede: body.supersede ?? false,
      start: instantOf('start_time', start),
      reboot: instantOf('reboot_at', reboot),
      endsAt: parseEnd(body.end_time),
      document: { ...body, channel },
    },
  }
}

/** @throws AppError invalid if routers that join could not follow the request. */
function parseInclusion({ include_new: includeNew = false }: SsrUpgradeBody, start: number): boolean {
  if (includeNew && start === -1)
    throw invalidField('include_new', 'is true, but start_time is -1: routers that join have downloaded nothing')
  return includeNew
}

/** @throws AppError invalid for a gate between phases, which no strategy of routers has. */
function parseGate({ phase_gates: gates = [] }: SsrUpgradeBody): StartGate | null {
  const index = gates.findIndex(({ phase }) => phase !== START_PHASE)
  if (index >= 0)
    throw invalidField(
      `phase_gates.${index}.phase`,
      `is ${gates[index]?.phase}, but of an upgrade of SSR routers only the start can wait, which is 0`,
    )
  return parseStartGate(gates)
}

interface ChosenVersion {
  readonly version: string
  readonly channel: Channel
  /** The field that chose it. */
  readonly field: 'version' | 'channel'
}

/** A channel may also be named as the version. */
function parseVersion({ version, channel }: Pick<SsrUpgradeBody, 'version' | 'channel'>): ChosenVersion {
  const named = channels.find((one) => one === version)
  if (named !== undefined && channel !== undefined && named !== channel)
    throw invalidField('channel', `is ${channel}, but version is ${named}: both must name one channel`)
  const chosen = named ?? channel ?? DEFAULT_CHANNEL
  return { version: version ?? chosen, channel: chosen, field: version === undefined ? 'channel' : 'version' }
}

function parsePart({ start, reboot }: { readonly start: number; readonly reboot: number }): RequestedPart | null {
  if (start === -1 && reboot === -1)
    throw invalidField('reboot_at', 'is -1, as start_time is: with neither a download nor a reboot nothing is left')
  if (start === -1) return { field: 'start_time', part: 'activate' }
  return reboot === -1 ? { field: 'reboot_at', part: 'stage' } : null
}

function instantOf(field: string, epochS: number): RequestedTime | null {
  return epochS <= 0 ? null : { field, time: { kind: 'instant', at: new Date(epochS * 1000) } }
}

const Macs = Type.Array(Type.String())
const Count = Type.Integer()

const recordFields = {
  id: Uuid,
  ...nameField,
  status: Type.String(),
  strategy: Type.String(),
  channel: Type.String(),
  device_type: Type.String(),
  /** Ours. */
  held: stateFields.held,
  versions: Type.Record(Type.String(), Type.String(), { description: 'the version for each model' }),
}

/** Source: contract, `response_ssr_upgrade`; `cancelled` is ours, since the others would not add up without it. */
export const SsrUpgradeReply = named(
  'SsrUpgrade',
  Type.Object({
    ...recordFields,
    counts: Type.Object({ queued: Count, upgrading: Count, success: Count, failed: Count, cancelled: Count }),
  }),
)

/** Source: contract, `response_ssr_upgrade_status`; `cancelled`, `notes`, `approvals` and `upgrades` are ours. */
export const SsrUpgradeStatusReply = named(
  'SsrUpgradeStatus',
  Type.Object({
    ...recordFields,
    targets: Type.Object({ queued: Macs, upgrading: Macs, success: Macs, failed: Macs, cancelled: Macs }),
    notes: NotesReply,
    approvals: Type.Optional(ApprovalsReply),
    /** As in the upgrades of devices. */
    upgrades: SiteUpgradesReply,
  }),
)

/** Names of the wire, and the corresponding states. */
const buckets = {
  queued: ['planned', 'deferred'],
  upgrading: [
    'dl_requested',
    'downloading',
    'downloaded',
    'reboot_requested',
    'rebooting',
    'verifying',
    'snapshotting',
    'rolling_back',
  ],
  success: ['upgraded', 'staged', 'skipped'],
  failed: ['failed'],
  cancelled: ['cancelled'],
} as const satisfies Record<string, readonly TargetState[]>

export function presentSsrUpgrade(upgrade: SsrUpgradeItem): Static<typeof SsrUpgradeReply> {
  const count = (bucket: keyof typeof buckets): number =>
    upgrade.sites.reduce((sum, { counts }) => sum + countOf(counts, buckets[bucket]), 0)
  return {
    ...presentRecord(upgrade),
    counts: {
      queued: count('queued'),
      upgrading: count('upgrading'),
      success: count('success'),
      failed: count('failed'),
      cancelled: count('cancelled'),
    },
  }
}

function countOf(counts: TargetCounts, states: readonly TargetState[]): number {
  return states.reduce((sum, state) => sum + counts[state], 0)
}

export function presentSsrUpgradeStatus(upgrade: SsrUpgrade): Static<typeof SsrUpgradeStatusReply> {
  const { siteUpgrades, notes, hold, approvals } = upgrade
  const macs = (bucket: keyof typeof buckets): string[] =>
    siteUpgrades.flatMap(({ targets }) => buckets[bucket].flatMap((state) => targets[state] ?? [])).toSorted()
  const failures = siteUpgrades.flatMap((site) => site.failures.filter(({ state }) => state === 'failed'))
  const waits = siteUpgrades.flatMap(({ waitsUntil }) => presentWait(waitsUntil))
  return {
    ...presentRecord(upgrade),
    targets: {
      queued: macs('queued'),
      upgrading: macs('upgrading'),
      success: macs('success'),
      failed: macs('failed'),
      cancelled: macs('cancelled'),
    },
    notes: [
      ...notes,
      ...presentHeldNote(hold),
      ...waits,
      ...siteUpgrades.flatMap((site) => site.notes.map(presentNote)),
      ...failures
        .toSorted((one, other) => (one.mac < other.mac ? -1 : 1))
        .map(({ mac, reason }) => ({ mac, reason: `failed: ${reason}` })),
    ],
    ...(approvals.length > 0 && { approvals: approvals.map(presentApproval) }),
    upgrades: presentSiteUpgrades(upgrade),
  }
}

function presentRecord({ id, name, strategy, channel, versions, sites, hold }: SsrUpgradeItem) {
  return {
    id,
    ...presentName(name),
    status: decideStatus(sites),
    strategy,
    channel,
    device_type: 'gateway',
    ...presentState({ hold, waitsUntil: null, stopReason: null }),
    versions: { ...versions },
  }
}

/** Source: contract, `listOrgAvailableSsrVersions`. */
export const SsrVersionsQuery = Type.Object({
  channel: Type.Optional(Type.Enum([...channels], { default: DEFAULT_CHANNEL })),
  mac: Type.Optional(textOf('mac', { description: 'of a router: only the versions for its model' })),
})

export const SsrVersionsReply = Type.Array(
  named(
    'SsrVersion',
    Type.Object({
      package: Type.String({ description: 'the model that the version is for' }),
      version: Type.String(),
      tags: Type.Array(Type.String()),
      default: Type.Boolean({ description: 'true for the version that an upgrade from this channel installs' }),
    }),
  ),
)

export function parseVersionChoice({ channel = DEFAULT_CHANNEL, mac }: Static<typeof SsrVersionsQuery>): VersionChoice {
  return { channel, mac: mac ?? null }
}

export function presentSsrVersion({ model, version, tag, isDefault }: SsrVersion) {
  return { package: model, version, tags: tag === null ? [] : [tag], default: isDefault }
}
