import { type Static, Type } from 'typebox'
import { Uuid, named } from '../http/schemas.ts'
import { isVirtual } from './models.ts'
import type { Mxedge } from './mxedge.ts'

export const serviceParams = {
  mxedge_id: Uuid,
  name: Type.Enum(['mxagent', 'mxdas', 'mxnacedge', 'mxocproxy', 'radsecproxy', 'tunterm']),
  action: Type.Enum(['restart', 'start', 'stop']),
}

export const BouncePortBody = named(
  'MxedgePortBounce',
  Type.Object(
    { ports: Type.Array(Type.String()), hold_time: Type.Optional(Type.Integer({ description: 'milliseconds' })) },
    { additionalProperties: true },
  ),
)

export const DisconnectApsBody = named(
  'MxedgeApDisconnect',
  Type.Object({ macs: Type.Array(Type.String(), { minItems: 1 }) }, { additionalProperties: true }),
)

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

export const VmParamsReply = named('MxedgeVmParams', Type.Object({ name: Type.String(), model: Type.String() }))

/** Null for an appliance that is no virtual machine. */
export function presentVmParams({ name, model }: Mxedge): Static<typeof VmParamsReply> | null {
  return isVirtual(model) ? { name, model } : null
}
