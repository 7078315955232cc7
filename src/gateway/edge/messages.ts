import { type Static, Type } from 'typebox'
import { checkOf } from '../../platform/json/check-of.ts'
import { CODENAME, PACKAGE_VERSION } from '../../firmware/packages/package.ts'
import { MachineStats } from '../../mxedges/sessions/machine.ts'

/**
 * The messages between the gateway and the agent, in both directions: see docs/protocols.md. Unknown members are
 * allowed, so that agents and gateways of different versions understand each other.
 */

const Text = Type.String({ maxLength: 256 })
const Nullable = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])
const Amount = Type.Number({ minimum: 0, maximum: 2 ** 53 })
const Space = Type.Union([Type.Object({ total: Amount, free: Amount }), Type.Null()])
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

export const CommandId = Type.String({ format: 'uuid', maxLength: 36 })

const Service = Type.Object({
  name: Text,
  version: Nullable(Text),
  state: Type.Enum(['running', 'stopped', 'failed']),
})

export const Report = Type.Object({
  /** Seconds since the boot of the machine; at most a century. */
  uptime_s: Type.Number({ minimum: 0, maximum: 3.2e9 }),
  services: Type.Array(Service, { maxItems: 32 }),
  cpu_percent: Type.Union([Type.Number({ minimum: 0, maximum: 100 }), Type.Null()]),
  memory: Space,
  disk: Space,
  addresses: Type.Array(Text, { maxItems: 32 }),
  /** The codename of the distribution; absent if it has not changed since hello. */
  distro: Type.Optional(Nullable(Text)),
  /** Absent: the agent is of an earlier version. */
  machine: Type.Optional(MachineStats),
})
export type Report = Static<typeof Report>

export const Hello = Type.Object({
  /** The version of the agent. */
  agent: Text,
  boot_id: Type.String({ minLength: 1, maxLength: 64 }),
  model: Nullable(Text),
  serial: Nullable(Text),
  distro: Nullable(Text),
  methods: Type.Array(Text, { maxItems: 64 }),
  config_sha256: Type.Union([Sha256, Type.Null()]),
  /** The ids of unfinished commands, and of those whose answers may have been lost. */
  commands: Type.Optional(Type.Array(CommandId, { maxItems: 256 })),
  report: Report,
})
export type Hello = Static<typeof Hello>

/** An image to download. Agents refuse an address that is not http or https. */
export const Artifact = Type.Object({
  uri: Type.String({ minLength: 1, maxLength: 2048 }),
  /** Bytes. */
  size: Type.Integer({ minimum: 1, maximum: 2 ** 40 }),
  sha256: Sha256,
  /** Ed25519 over the 32 bytes of the SHA-256, in base64. */
  signature: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+/]{86}==$' })),
})
export type Artifact = Static<typeof Artifact>

const command = { command_id: CommandId }
const Name = Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$' })

const Version = Type.String({ pattern: PACKAGE_VERSION })

/** The params of the gateway's calls, by method. */
export const calls = {
  'service.control': Type.Object({
    ...command,
    service: Name,
    action: Type.Enum(['start', 'stop', 'restart']),
  }),
  'port.bounce': Type.Object({
    ...command,
    ports: Type.Array(Text, { minItems: 1, maxItems: 64 }),
    hold_ms: Type.Integer({ minimum: 0, maximum: 600_000 }),
  }),
  'aps.disconnect': Type.Object({
    ...command,
    macs: Type.Array(Type.String({ pattern: '^[0-9a-f]{12}$' }), { minItems: 1, maxItems: 1000 }),
  }),
  configure: Type.Object({ ...command, sha256: Sha256, configuration: Type.Record(Type.String(), Type.Unknown()) }),
  /** Downloads the image and stores it. */
  stage: Type.Object({ ...command, artifact: Artifact }),
  'service.upgrade': Type.Object({ ...command, service: Name, version: Version, artifact: Artifact }),
  /** Downloads the files for the upgrade to the release, without changing anything. */
  'distro.stage': Type.Object({ ...command, codename: Type.String({ pattern: CODENAME }), from: Nullable(Text) }),
  /** `next` is the release that follows `from`, so that a repeated command does not upgrade a second time. */
  'distro.upgrade': Type.Object({ ...command, codename: Type.String({ pattern: CODENAME }), from: Nullable(Text) }),
  /** Collect support files and post them to the address as a form. */
  support: Type.Object({ ...command, uri: Type.String({ minLength: 1, maxLength: 2048 }) }),
} as const

export type Method = keyof typeof calls
export type ParamsOf<M extends Method> = Static<(typeof calls)[M]>

export function isMethod(name: string): name is Method {
  return Object.hasOwn(calls, name)
}

/** The agent's progress report of a long command. */
export const Progress = Type.Object({
  ...command,
  step: Type.Enum(['download', 'install']),
  percent: Type.Union([Type.Integer({ minimum: 0, maximum: 100 }), Type.Null()]),
})
export type Progress = Static<typeof Progress>

/** The agent's answer after it has executed a command. */
export const CommandResult = Type.Object({
  command_id: Type.String({ maxLength: 36 }),
  boot_id: Type.String({ maxLength: 64 }),
  /** True when the agent had executed the command before, and repeats its answer. */
  repeated: Type.Boolean(),
  text: Type.String({ maxLength: 100_000 }),
})
export type CommandResult = Static<typeof CommandResult>

export const CommandError = Type.Object({
  code: Type.Integer(),
  message: Type.String({ maxLength: 100_000 }),
  data: Type.Optional(Type.Object({ command_id: Type.String({ maxLength: 36 }), boot_id: Text })),
})
export type CommandError = Static<typeof CommandError>

/** The agent's request for a new certificate; the answer has `certificate` and `ca`, both PEM. */
export const Renewal = Type.Object({
  /** PEM of a certificate request for a new key. */
  csr: Type.String({ minLength: 1, maxLength: 4096 }),
})
export type Renewal = Static<typeof Renewal>

/** The codes of errors. The negative ones are those of JSON-RPC: the call was not executed. */
export const errorCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  /** The agent did not execute the command. */
  refused: 1,
  /** The agent executed the command, and it failed. */
  failed: 2,
} as const

export const isHello = checkOf(Hello)
export const isReport = checkOf(Report)
export const isProgress = checkOf(Progress)
export const isRenewal = checkOf(Renewal)
export const isCommandResult = checkOf(CommandResult)
export const isCommandError = checkOf(CommandError)

const callChecks = {
  'service.control': checkOf(calls['service.control']),
  'port.bounce': checkOf(calls['port.bounce']),
  'aps.disconnect': checkOf(calls['aps.disconnect']),
  configure: checkOf(calls.configure),
  stage: checkOf(calls.stage),
  'service.upgrade': checkOf(calls['service.upgrade']),
  'distro.stage': checkOf(calls['distro.stage']),
  'distro.upgrade': checkOf(calls['distro.upgrade']),
  support: checkOf(calls.support),
} satisfies Record<Method, unknown>

/** Returns true if the params have the shape of the method's. */
export function isParamsOf<M extends Method>(method: M, params: unknown): params is ParamsOf<M> {
  return callChecks[method](params)
}
