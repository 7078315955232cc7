import { type Static, Type } from 'typebox'
import { checkOf } from '../../platform/json/check-of.ts'
import { Artifact, CommandId, Report, calls } from './messages.ts'

/** The messages between the gateway and the agent of an SSR router, as far as they differ from those of messages.ts. */

/** Only characters that can be stored and shown unchanged. */
const Word = Type.String({ minLength: 1, maxLength: 64, pattern: '^[\\x21-\\x7e]+( [\\x21-\\x7e]+)*$' })
const Node = Type.Enum(['node0', 'node1'])
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

const { services: _services, machine: _machine, ...reported } = Report.properties

export const RouterReport = Type.Object(reported)
export type RouterReport = Static<typeof RouterReport>

export const RouterHello = Type.Object({
  /** The version of the agent. */
  agent: Word,
  role: Type.Literal('ssr'),
  /** Must be that of the certificate. */
  mac: Type.String({ pattern: '^[0-9a-f]{12}$' }),
  boot_id: Word,
  model: Word,
  serial: Word,
  /** The version of the router's firmware. */
  version: Word,
  /** The nodes of a router with high availability that can be restarted individually; empty for any other. */
  nodes: Type.Array(Node, { maxItems: 2 }),
  methods: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 }),
  /** As in Hello. */
  commands: Type.Optional(Type.Array(CommandId, { maxItems: 256 })),
  report: RouterReport,
})
export type RouterHello = Static<typeof RouterHello>

const command = { command_id: CommandId }

/** The params of the gateway's calls, by method. */
const routerCalls = {
  restart: Type.Object({ ...command, node: Type.Optional(Node) }),
  stage: Type.Object({ ...command, version: Word, artifact: Artifact }),
  activate: Type.Object({ ...command, version: Word, sha256: Sha256 }),
  support: calls.support,
} as const

export type RouterMethod = keyof typeof routerCalls
export type RouterParams<M extends RouterMethod> = Static<(typeof routerCalls)[M]>

export function isRouterMethod(name: string): name is RouterMethod {
  return Object.hasOwn(routerCalls, name)
}

export const isRouterHello = checkOf(RouterHello)
export const isRouterReport = checkOf(RouterReport)

const callChecks = {
  restart: checkOf(routerCalls.restart),
  stage: checkOf(routerCalls.stage),
  activate: checkOf(routerCalls.activate),
  support: checkOf(routerCalls.support),
} satisfies Record<RouterMethod, unknown>

/** Returns true if the params have the shape of the method's. */
export function isRouterParams<M extends RouterMethod>(method: M, params: unknown): params is RouterParams<M> {
  return callChecks[method](params)
}
