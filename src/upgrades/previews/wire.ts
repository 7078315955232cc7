import { type Static, Type } from 'typebox'
import { ErrorReply, Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { nameField, presentName } from '../wire-extensions.ts'
import type { NamedDevice, PreviewNote, PreviewPhase, SkippedDevice, UpgradePreview } from './preview.ts'

/** Fields of requests for an upgrade, all of them ours. */
export const previewFields = {
  dry_run: Type.Optional(
    Type.Boolean({ default: false, description: 'true: only plan the upgrade, and answer the plan with its plan_id' }),
  ),
  plan_id: Type.Optional(
    Type.String({ ...Uuid, description: 'carry out the plan with this id, which a request with dry_run has answered' }),
  ),
}

const Name = Type.Optional(Type.String({ description: 'the present name of the device, if it has one' }))

const PhaseReply = Type.Object({
  percent: Type.Integer({ description: 'cumulative' }),
  total: Type.Integer(),
  stops_after_failures: Type.Optional(
    Type.Integer({ description: 'the number of failures in the phase that stops the upgrade' }),
  ),
  sites: Type.Array(
    Type.Object({
      site_id: Uuid,
      start_time: Type.Integer({ description: 'nothing begins at the site before it' }),
      begins_about: Type.Optional(
        Type.Integer({
          description:
            'an estimate, where the site has maintenance windows or a gate waits for a time: when its first device begins',
        }),
      ),
      macs: Type.Array(Type.String(), { description: 'in the order in which they are upgraded' }),
    }),
  ),
})

export const UpgradePreviewReply = named(
  'UpgradePreview',
  Type.Object({
    plan_id: Uuid,
    expires_at: Type.Number({ description: 'until when an upgrade may name the plan by `plan_id`' }),
    ...nameField,
    total: Type.Integer({ description: 'devices that would be upgraded' }),
    phases: Type.Array(PhaseReply),
    downloads: Type.Array(PhaseReply, {
      description: 'phases of the downloads; empty where devices download in those of their reboots',
    }),
    paths: Type.Array(Type.Object({ versions: Type.Array(Type.String()), macs: Type.Array(Type.String()) }), {
      description: 'devices that reboot more than once, and the versions that they install in turn',
    }),
    skipped: Type.Array(Type.Object({ mac: Type.String(), name: Name, reason: Type.String() })),
    stops_after_failures: Type.Union([Type.Integer(), Type.Null()], {
      description: 'the number of failures that stops the upgrade; null: none does',
    }),
    ends_about: Type.Union([Timestamp, Type.Null()], {
      description: 'an estimate, where every device is present and healthy; null: there is nothing to do',
    }),
    notes: Type.Array(
      Type.Object({
        site_id: Type.Optional(Uuid),
        mac: Type.Optional(Type.String({ description: 'of a device that is upgraded' })),
        name: Name,
        reason: Type.String(),
      }),
    ),
  }),
)

/** The 409 of a plan that no longer fits. */
export const PlanOutdatedReply = named(
  'UpgradePlanOutdated',
  Type.Object({
    ...ErrorReply.properties,
    differences: Type.Array(
      Type.Object({
        mac: Type.Optional(Type.String()),
        name: Name,
        site_id: Type.Optional(Uuid),
        reason: Type.String(),
      }),
      { description: 'the changes since the preview; the first 100' },
    ),
    total: Type.Integer({ description: 'how many differences there are' }),
  }),
)

/** @param name That of the request, if it has one. */
export function presentPreview(
  preview: UpgradePreview,
  { name = null }: { readonly name?: string | null },
): Static<typeof UpgradePreviewReply> {
  const { planId, expiresAt, total, skipped, stopsAfterFailures, endsAbout, notes } = preview
  return {
    plan_id: planId,
    expires_at: epochS(expiresAt),
    ...presentName(name),
    total,
    phases: preview.phases.map(presentPhase),
    downloads: preview.downloads.map(presentPhase),
    paths: preview.paths.map(({ versions, macs }) => ({ versions: [...versions], macs: [...macs] })),
    skipped: skipped.map(presentSkipped),
    stops_after_failures: stopsAfterFailures,
    ends_about: endsAbout && Math.floor(epochS(endsAbout)),
    notes: notes.map(presentNote),
  }
}

function presentDevice({ mac, name }: NamedDevice): { mac: string; name?: string } {
  return name === null ? { mac } : { mac, name }
}

function presentSkipped(device: SkippedDevice) {
  return { ...presentDevice(device), reason: device.reason }
}

function presentNote({ siteId, device, reason }: PreviewNote) {
  return { ...(siteId !== null && { site_id: siteId }), ...(device && presentDevice(device)), reason }
}

function presentPhase({ percent, total, stopsAfterFailures, sites }: PreviewPhase): Static<typeof PhaseReply> {
  return {
    percent,
    total,
    ...(stopsAfterFailures !== null && { stops_after_failures: stopsAfterFailures }),
    sites: sites.map(({ siteId, startAt, beginsAbout, macs }) => {
      const begins = beginsAbout && { begins_about: Math.floor(epochS(beginsAbout)) }
      return { site_id: siteId, start_time: Math.floor(epochS(startAt)), ...begins, macs: [...macs] }
    }),
  }
}
