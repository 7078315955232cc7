import { type Static, Type } from 'typebox'
import { commandStates } from '../devices/commands/command.ts'
import { CommandReason } from '../devices/commands/wire.ts'
import { plainMac } from '../devices/device.ts'
import type { CatalogPackage } from '../firmware/packages/package.ts'
import { fitsDistro, isOffered, newestFirst } from '../firmware/packages/resolve-package.ts'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { textOf } from '../http/texts.ts'
import { epochS } from '../platform/time/clock.ts'
import type { PersonOrder } from './commands/queue-command.ts'
import type { MxedgeCommand } from './commands/store.ts'
import { isVirtual } from './models.ts'
import type { Mxedge } from './mxedge.ts'
import { type AgentStart, userDataOf } from './registration/user-data.ts'

export const serviceParams = {
  mxedge_id: Uuid,
  name: Type.Enum(['mxagent', 'mxdas', 'mxnacedge', 'mxocproxy', 'radsecproxy', 'tunterm']),
  action: Type.Enum(['restart', 'start', 'stop']),
}

/**
 * As Linux names interfaces. The name becomes an argument of the operator's command, so it must not look like an
 * option.
 */
const Port = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:@-]{0,31}$',
  description: 'name of a port, such as `eth1`',
})

const DEFAULT_HOLD_MS = 1000

export const BouncePortBody = named(
  'MxedgePortBounce',
  Type.Object({
    ports: Type.Array(Port, { minItems: 1, maxItems: 64 }),
    hold_time: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 600_000, default: DEFAULT_HOLD_MS, description: 'milliseconds' }),
    ),
  }),
)

export function parseBouncePort({
  ports,
  hold_time: holdMs = DEFAULT_HOLD_MS,
}: Static<typeof BouncePortBody>): PersonOrder {
  return { kind: 'bounce_port', params: { ports, hold_ms: holdMs } }
}

export const DisconnectApsBody = named(
  'MxedgeApDisconnect',
  Type.Object({ macs: Type.Array(textOf('mac'), { minItems: 1, maxItems: 200 }) }),
)

export function parseDisconnectAps({ macs }: Static<typeof DisconnectApsBody>): PersonOrder {
  return { kind: 'disconnect_aps', params: { macs: macs.map(plainMac) } }
}

const CommandProgressReply = Type.Object(
  {
    step: Type.String({ description: '`download` or `install`' }),
    percent: Type.Optional(Type.Integer({ description: 'how much of the step is done' })),
  },
  { description: 'the step that the command had reached when the appliance reported last' },
)

export const MxedgeCommandReply = named(
  'MxedgeCommand',
  Type.Object({
    id: Uuid,
    mxedge_id: Uuid,
    kind: Type.Enum([
      'service',
      'bounce_port',
      'disconnect_aps',
      'configure',
      'stage_package',
      'upgrade_service',
      'stage_distro',
      'upgrade_distro',
      'support',
    ]),
    params: Type.Record(Type.String(), Type.Unknown()),
    status: Type.Enum(commandStates, {
      description: '`unknown`: the appliance may have done it, but its answer was not received',
    }),
    reason: Type.Optional(CommandReason),
    progress: Type.Optional(CommandProgressReply),
    created_time: Timestamp,
    sent_time: Type.Optional(Timestamp),
    finished_time: Type.Optional(Timestamp),
  }),
)

export function presentMxedgeCommand(command: MxedgeCommand): Static<typeof MxedgeCommandReply> {
  const { id, mxedgeId, kind, params, state, outcome, progress, createdAt, sentAt, finishedAt } = command
  const reason = state === 'rejected' ? outcome?.['text'] : outcome?.['why']
  return {
    id,
    mxedge_id: mxedgeId,
    kind,
    params,
    status: state,
    ...(typeof reason === 'string' && { reason }),
    ...(progress !== null && { progress }),
    created_time: epochS(createdAt),
    ...(sentAt !== null && { sent_time: epochS(sentAt) }),
    ...(finishedAt !== null && { finished_time: epochS(finishedAt) }),
  }
}

export const VersionsQuery = Type.Object({
  channel: Type.Optional(Type.Enum(['alpha', 'beta', 'stable'], { default: 'stable' })),
  distro: Type.Optional(Type.String()),
})

export const VersionsReply = Type.Array(
  named(
    'MxedgeVersion',
    Type.Object({
      package: Type.String(),
      version: Type.String(),
      distro: Type.Optional(Type.String()),
      default: Type.Optional(Type.Boolean()),
    }),
  ),
)

/**
 * Presents the versions that the channel and the more stable ones offer for the distribution, by package and the newest
 * first.
 */
export function presentVersions(
  catalog: readonly CatalogPackage[],
  { channel = 'stable', distro }: Static<typeof VersionsQuery>,
): Static<typeof VersionsReply> {
  return catalog
    .filter((entry) => isOffered(entry, channel) && (distro === undefined || fitsDistro(entry, distro)))
    .toSorted((a, b) => a.package.localeCompare(b.package) || newestFirst(a, b))
    .map(presentVersion)
}

function presentVersion({ package: name, version, distro, isDefault }: CatalogPackage) {
  return { package: name, version, ...(distro !== null && { distro }), default: isDefault }
}

export const VmParamsReply = named(
  'MxedgeVmParams',
  Type.Object({
    name: Type.String(),
    model: Type.String(),
    user_data: Type.Optional(
      Type.String({
        description: 'for cloud-init, with the `magic` of the appliance; only for callers who see `magic`',
      }),
    ),
  }),
)

/**
 * Returns null for an appliance that is not a virtual machine.
 * @param origin Null for a caller who doesn't see secrets: the user data contains the registration code.
 */
export function presentVmParams(
  { name, model, registrationCode: code }: Mxedge,
  origin: Omit<AgentStart, 'code'> | null,
): Static<typeof VmParamsReply> | null {
  if (!isVirtual(model)) return null
  return { name, model, ...(origin !== null && { user_data: userDataOf({ ...origin, code }) }) }
}
