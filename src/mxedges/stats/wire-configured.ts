import { Type } from 'typebox'

const text = Type.Optional(Type.String())
const texts = Type.Optional(Type.Array(Type.String()))
const flag = Type.Optional(Type.Boolean())
const open = { additionalProperties: true }

/** Parts of the configuration that statistics repeat unchanged. */
export const configuredFields = {
  oob_ip_config: Type.Optional(
    Type.Object(
      {
        autoconf6: flag,
        dhcp6: flag,
        dns: texts,
        gateway: text,
        gateway6: text,
        ip: text,
        ip6: text,
        netmask: text,
        netmask6: text,
        type: text,
        type6: text,
      },
      open,
    ),
  ),
  tunterm_ip_config: Type.Optional(Type.Object({ gateway: text, ip: text, netmask: text }, open)),
  tunterm_port_config: Type.Optional(
    Type.Object({ downstream_ports: texts, separate_upstream_downstream: flag, upstream_ports: texts }, open),
  ),
}

/** The contract has no null in these parts: a member that was set to null is absent. */
export function withoutNulls(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== null))
}
