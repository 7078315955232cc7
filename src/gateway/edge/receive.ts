import { closeCodes } from '../websockets/close-codes.ts'
import type { LinkProgress } from '../links/device-link.ts'
import type { DeviceCall } from '../websockets/frame-session.ts'
import type { LinkHost } from '../protocol.ts'
import type { MxedgeReport } from '../../mxedges/sessions/facts.ts'
import { cleanMachine } from '../../mxedges/sessions/machine.ts'
import { commonNameOf } from '../../mxedges/registration/identity.ts'
import { renewCertificate } from '../../mxedges/registration/renew-certificate.ts'
import { type Hello, type Report, errorCodes, isHello, isProgress, isReport } from './messages.ts'
import type { ApplianceSession } from './appliance-session.ts'
import { type AdmitKey, type EdgeHost, renew, welcome } from './renew.ts'
import type { AgentSession } from './session.ts'

type Oddity =
  | 'unknown_method'
  | 'invalid_message'
  | 'unknown_reply'
  | 'repeated_connect'
  | 'malformed_frame'
  | 'wrong_serial'

/**
 * Counts a dropped message and warns once per session, so that a broken agent does not flood the log. An answer without an open call is
 * no fault: an agent whose machine has restarted repeats those of which it does not know whether they have arrived.
 */
export function dropMessage<S extends AgentSession<S>>(
  { ctx, counters }: LinkHost,
  session: S,
  { what, detail }: { what: Oddity; detail: string },
): void {
  counters.add(what)
  const isFault = what !== 'unknown_reply'
  ctx.log[isFault && !session.isOdd ? 'warn' : 'debug'](
    { ...session.logged, what, detail: detail.slice(0, 200) },
    'dropped what an agent sent',
  )
  if (isFault) session.isOdd = true
}

/** The messages that the agents of one role send. */
export interface Receivers<S> {
  readonly onHello: (host: EdgeHost, session: S, call: DeviceCall) => Promise<void>
  readonly onReport: (host: LinkHost, session: S, call: DeviceCall) => Promise<void>
  readonly onProgress: (host: LinkHost, session: S, reached: CallProgress) => Promise<boolean>
  readonly admitKey: AdmitKey<S>
}

/** A step that the command of a call has reached. */
export interface CallProgress {
  readonly callId: number
  readonly step: LinkProgress
}

/** Handles a message of an agent. Never rejects. */
export async function receiveCall<S extends AgentSession<S>>(
  host: EdgeHost,
  session: S,
  { call, receivers }: { readonly call: DeviceCall; readonly receivers: Receivers<S> },
): Promise<void> {
  try {
    if (call.method === 'hello' && session.isConnected)
      return dropMessage(host, session, { what: 'repeated_connect', detail: '' })
    if (call.method === 'hello') return await receivers.onHello(host, session, call)
    if (!session.isConnected) return closeEarly(host, session)
    if (call.method === 'report') return await receivers.onReport(host, session, call)
    if (call.method === 'renew') return await renew(host, session, { call, admitKey: receivers.admitKey })
    if (call.method === 'progress') return onProgress(host, session, { call, receivers })
    dropMessage(host, session, { what: 'unknown_method', detail: call.method })
    session.refuse(call.id, { code: errorCodes.unknownMethod, message: 'The gateway has no such method' })
  } catch (error) {
    host.counters.add('message_failed')
    host.ctx.log[host.failureLevel(error)](
      { err: error, ...session.logged },
      'a message of an agent could not be handled',
    )
    if (call.method === 'hello') session.close('try_again')
    else session.refuse(call.id, { code: errorCodes.internalError, message: 'The gateway could not handle the call' })
  }
}

export const applianceReceivers: Receivers<ApplianceSession> = {
  onHello,
  onReport,
  onProgress: (host, session, { callId, step }) => host.appliances.onProgress(session, callId, step),
  async admitKey({ ctx }, { identity, epoch }, keySha256) {
    return (await renewCertificate(ctx, { ...identity, epoch }, keySha256)) ? commonNameOf(identity) : null
  },
}

async function onHello(host: EdgeHost, session: ApplianceSession, { id, params }: DeviceCall): Promise<void> {
  if (id === null || !isHello(params)) {
    dropMessage(host, session, { what: 'invalid_message', detail: 'hello' })
    session.refuse(id, { code: errorCodes.invalidParams, message: 'The params are not those of hello' })
    return session.closeWith(closeCodes.policy, "hello can't be understood")
  }
  const { report, ...hello } = params
  const facts = factsOf(hello, session.address)
  if ((await host.appliances.connect(session, { facts, report: reportOf(report) })) === 'refused') {
    host.counters.add('refused_identity')
    const known = facts.serial === null ? {} : { detail: `serial ${facts.serial}` }
    host.refusals.add({ protocol: 'edge', why: 'identity', address: session.address, ...known })
    return session.close('unregistered')
  }
  welcome(host, session, id)
}

async function onReport(host: LinkHost, session: ApplianceSession, { id, params }: DeviceCall): Promise<void> {
  if (!isReport(params)) {
    dropMessage(host, session, { what: 'invalid_message', detail: 'report' })
    return session.refuse(id, { code: errorCodes.invalidParams, message: 'The params are not those of report' })
  }
  const { distro } = params
  await host.appliances.report(session, { report: reportOf(params), ...(distro !== undefined && { distro }) })
}

/** Progress of a command that was sent on an earlier connection renews nothing: its end is already unknown. */
function onProgress<S extends AgentSession<S>>(
  host: LinkHost,
  session: S,
  { call: { id, params }, receivers }: { readonly call: DeviceCall; readonly receivers: Receivers<S> },
): void {
  if (!isProgress(params)) {
    dropMessage(host, session, { what: 'invalid_message', detail: 'progress' })
    return session.refuse(id, { code: errorCodes.invalidParams, message: 'The params are not those of progress' })
  }
  const sent = session.sentCallOf(params.command_id)
  if (sent === null) return
  const { callId, limits, sentAtMs } = sent
  const { step, percent } = params
  const progress = { step, ...(percent !== null && { percent }) }
  // A negative time ends the command as well.
  const leftMs = sentAtMs + limits.longestMs - host.now()
  const timeoutMs = Math.min(leftMs, step === 'download' ? limits.downloadMs : limits.installMs)
  void receivers.onProgress(host, session, { callId, step: { progress, timeoutMs } })
}

function closeEarly<S extends AgentSession<S>>({ ctx, counters }: LinkHost, session: S): void {
  counters.add('not_connected')
  ctx.log.warn({ ...session.logged, address: session.address }, 'closed a session: hello must come first')
  session.closeWith(closeCodes.policy, 'hello must come first')
}

/** Copies only the known members: any others are unbounded and would be stored. */
function factsOf(
  { agent, boot_id, model, serial, distro, methods, config_sha256, commands }: Omit<Hello, 'report'>,
  ext_ip: string | null,
) {
  const known = { agent, boot_id, model, serial, distro, methods, config_sha256, ext_ip }
  return commands === undefined ? known : { ...known, commands }
}

function reportOf({ uptime_s, services, cpu_percent, memory, disk, addresses, machine }: Report): MxedgeReport {
  return {
    uptime_s,
    services: services.map(({ name, version, state }) => ({ name, version, state })),
    cpu_percent,
    memory: memory && { total: memory.total, free: memory.free },
    disk: disk && { total: disk.total, free: disk.free },
    addresses,
    ...(machine !== undefined && { machine: cleanMachine(machine) }),
  }
}
