import { systemScope } from '../../access/scope.ts'
import { type DeviceEventInput, appendDeviceEvents } from '../../events/append.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import type { Tx } from '../../platform/database/db.ts'
import { deviceOfEvent, listDevicesById } from '../store.ts'
import type { CommandState } from '../tables.ts'
import { type LossReason, RESTORE_TEXT } from './command.ts'
import { type SettledRestore, settleCompletedRestores, settleLateRestores } from './store-restores.ts'
import { type EndedCommand, markCommandsLost } from './store-ended.ts'

type EventOf = Pick<DeviceEventInput, 'what' | 'text'>

/**
 * Appends the events of commands that have just ended, in the transaction that ends them: of recovery snapshots, of
 * restarts of one part, and of restarts and restores that did not take place. The end of another restart or restore shows
 * itself when the device is back.
 */
export async function appendEndedCommands(
  tx: Tx,
  ended: readonly Pick<EndedCommand, 'orgId' | 'deviceId' | 'kind' | 'params' | 'state' | 'outcome'>[],
  at: Date,
): Promise<void> {
  const happened = ended.flatMap((command) => {
    const event = eventOf(command)
    return event === null ? [] : [{ ...command, event }]
  })
  await appendEvents(tx, happened, at)
}

function eventOf({
  kind,
  params,
  state,
  outcome,
}: Pick<EndedCommand, 'kind' | 'params' | 'state' | 'outcome'>): EventOf | null {
  const said = outcome?.['text'] ?? outcome?.['why']
  const text = typeof said === 'string' ? said : undefined
  if (kind === 'snapshot') {
    const what = state === 'done' ? 'RECOVERY_SNAPSHOT_SUCCEEDED' : 'RECOVERY_SNAPSHOT_FAILED'
    return { what, ...(text !== undefined && { text }) }
  }
  if (kind === 'restart') return restartEvent({ part: partOf(params ?? {}), state, text })
  if (kind !== 'restore_backup' || state === 'done' || state === 'unknown') return null
  return { what: 'UPGRADE_FAILED', text: `${RESTORE_TEXT}: ${text ?? 'it was not executed'}` }
}

interface EndedRestart {
  readonly part: string | null
  readonly state: CommandState
  readonly text: string | undefined
}

/**
 * The restart of a whole device is visible in its connection, so an unknown outcome has no event. The restart of a part
 * is awaited.
 */
function restartEvent({ part, state, text }: EndedRestart): EventOf | null {
  if (state === 'done') return part === null ? null : { what: 'PART_RESTARTED', text: part }
  if (state === 'unknown' && part !== null && text === 'timeout')
    return { what: 'RESTART_FAILED', text: `${part}: it was not seen to restart in time` }
  if (state !== 'rejected' && state !== 'expired') return null
  const why = text ?? 'it was not executed'
  return { what: 'RESTART_FAILED', text: part === null ? why : `${part}: ${why}` }
}

function partOf({ member, node }: Readonly<Record<string, unknown>>): string | null {
  if (typeof node === 'string') return node
  return typeof member === 'number' ? `member ${member}` : null
}

/** Ends the commands in flight on the sessions as markCommandsLost() does, with their events. */
export async function recordCommandsLost(
  tx: Tx,
  sessions: readonly { readonly deviceId: string; readonly epoch: string }[],
  loss: { readonly at: Date; readonly why: LossReason },
): Promise<void> {
  await appendEndedCommands(tx, await markCommandsLost(tx, sessions, loss), loss.at)
}

/** Appends the events of successful restores, of the devices whose status has changed. */
export async function appendCompletedRestores(tx: Tx, deviceIds: readonly string[], at: Date): Promise<void> {
  const settled = await settleCompletedRestores(tx, deviceIds, at)
  noteChanges(
    tx,
    'command_end',
    settled.filter(({ isFound }) => isFound),
  )
  await appendEvents(
    tx,
    settled.filter(isLast).map(({ orgId, deviceId, version }) => {
      const text = version === null ? 'Restored the backup version' : `Restored the backup version ${version}`
      return { orgId, deviceId, event: { what: 'UPGRADED', text } as const }
    }),
    at,
  )
}

/** Longer than a Virtual Chassis takes to return. */
const RETURN_WITHIN_MS = 3_600_000

/** Appends the events of restores after which the device has not returned with its backup version. */
export async function appendFailedRestores(tx: Tx, nowMs: number, at: Date): Promise<void> {
  const settled = await settleLateRestores(tx, nowMs - RETURN_WITHIN_MS, at)
  await appendEvents(
    tx,
    settled.filter(isLast).map((restore) => {
      const { orgId, deviceId } = restore
      return { orgId, deviceId, event: { what: 'UPGRADE_FAILED', text: failureOf(restore) } as const }
    }),
    at,
  )
}

const isLast = (restore: SettledRestore): boolean => restore.isLast

function failureOf({ version, firmware }: SettledRestore): string {
  if (version === null) return 'The device has not restarted since it was told to restore its backup version'
  if (version === firmware) return `Some members did not return with the backup version ${version}`
  return `The device did not return with the backup version ${version}: it reported ${firmware ?? 'none'} last`
}

interface Happened {
  readonly orgId: string
  readonly deviceId: string
  readonly event: EventOf
}

async function appendEvents(tx: Tx, happened: readonly Happened[], at: Date): Promise<void> {
  for (const [orgId, some] of Map.groupBy(happened, (one) => one.orgId)) {
    const scope = systemScope('gateway', orgId)
    const devices = await listDevicesById(
      tx,
      scope,
      some.map(({ deviceId }) => deviceId),
    )
    const byId = new Map(devices.map((device) => [device.id, device]))
    const events = some.flatMap(({ deviceId, event }) => {
      const device = byId.get(deviceId)
      return device === undefined ? [] : [{ device: deviceOfEvent(device), ...event }]
    })
    await appendDeviceEvents(tx, scope, events, at)
  }
}
