import type { Hardware } from '../../devices/hardware/hardware.ts'
import { numberOfPart } from '../../devices/commands/command.ts'
import type { DeviceFacts } from '../../devices/device.ts'
import { deviceIdOf } from '../../devices/device.ts'
import { type CloseReason, type DeviceLink, type LinkCommand, NO_EPOCH, type SendResult } from '../links/device-link.ts'
import type { LinkHost } from '../protocol.ts'
import { FAMILY, junosDriver } from './driver.ts'
import { type JunosFacts, readChanges } from './facts.ts'
import { readHardware } from './hardware.ts'
import type { NetconfLimits } from './limits.ts'
import type { NetconfSession } from './session.ts'
import { type AwaitedPart, continuedUptimeS, hasReturned, isPresent } from './returns.ts'
import { type Task, type TaskCall, type TaskResult, waits } from './task.ts'
import { startTask, stepOfPart } from './tasks.ts'

export interface LinkOptions {
  readonly session: NetconfSession
  readonly facts: JunosFacts
  /** The organization that the device has proved. */
  readonly orgId: string
  readonly address: string | null
}

/** The number of polls per thorough one, which also queries the hardware: its replies are large and change rarely. */
const POLLS_PER_THOROUGH = 10

/** The task did not end: the connection did, and with it every certainty. */
const LOST = Symbol('lost')

/** The connection of a Junos device. It runs tasks one after the other: a command, or a poll for changes. */
export class JunosLink implements DeviceLink {
  readonly family = FAMILY
  readonly mac: string
  readonly deviceId: string
  readonly orgId: string
  epoch: string = NO_EPOCH
  isClosed = false
  readonly address: string | null
  readonly #host: LinkHost
  readonly #session: NetconfSession
  #facts: JunosFacts
  #running: Promise<void> = Promise.resolve()
  #tasks = 0
  #polledAtMs: number
  /** The service time before the request for the facts. */
  #askedAtMs: number
  #polls = 0
  #awaited: AwaitedPart[] = []
  /** True once we have closed the link: a broken connection then reveals nothing about the device. */
  #isEnded = false

  constructor(host: LinkHost, { session, facts, orgId, address }: LinkOptions) {
    this.#host = host
    this.#session = session
    this.#facts = facts
    this.#polledAtMs = host.now()
    this.#askedAtMs = host.ctx.serviceClock.nowMs()
    this.mac = facts.mac
    this.deviceId = deviceIdOf(facts.mac)
    this.orgId = orgId
    this.address = address
  }

  /** The facts to record about the connection. */
  get deviceFacts(): DeviceFacts {
    const { version, model, type, serial } = this.#facts
    return {
      firmware: version,
      model,
      type,
      serial,
      capabilities: junosDriver.capabilitiesOf(this.#facts),
      members: membersOf(this.#facts),
      reason: null,
      ext_ip: this.address,
    }
  }

  send({ callId, device, order }: LinkCommand): SendResult {
    const encoded = junosDriver.encode(device, order)
    if (encoded.kind === 'rejected') return encoded
    if (this.#session.isClosed || this.#isEnded) return { kind: 'unsent' }
    this.#enqueue(() => this.#execute(callId, startTask(encoded.call, this.#facts)))
    return { kind: 'sent', timeoutMs: encoded.timeoutMs }
  }

  close(_reason: CloseReason): void {
    this.#isEnded = true
    this.#session.close()
  }

  /** Must be called at intervals: ends a session whose device does not reply, and polls for changes. */
  look({ pollMs, returnPollMs }: Pick<NetconfLimits, 'pollMs' | 'returnPollMs'>): void {
    const nowMs = this.#host.now()
    if (this.#session.isLate(nowMs)) return this.close('try_again')
    const everyMs = this.#awaited.length > 0 ? Math.min(pollMs, returnPollMs) : pollMs
    if (this.epoch === NO_EPOCH || this.#tasks > 0 || nowMs - this.#polledAtMs < everyMs) return
    this.#polledAtMs = nowMs
    this.#enqueue(() => this.#poll())
  }

  /** Reports the facts from the connect, and queries the device for its hardware. */
  reportFirst(): void {
    const unchanged = { members: null, capabilities: null, hardware: null }
    void this.#report(this.#facts.uptimeS, { ...unchanged, isOfHello: true })
    this.#enqueue(() => this.#pollHardware())
    this.#enqueue(() => this.#awaitParts())
  }

  /** Called when the session has ended; resolves when everything that the device has sent is handled. */
  async onSessionClosed(): Promise<void> {
    await this.#running
    this.isClosed = true
    this.#host.onClosed(this)
  }

  #enqueue(work: () => Promise<void>): void {
    this.#tasks += 1
    this.#running = this.#running.then(work).then(
      () => void (this.#tasks -= 1),
      (error: unknown) => {
        this.#tasks -= 1
        this.#host.counters.add('message_failed')
        const level = this.#host.failureLevel(error)
        this.#host.ctx.log[level]({ err: error, mac: this.mac }, 'a task of a device failed')
        this.close('try_again')
      },
    )
  }

  async #execute(callId: number, task: Task): Promise<void> {
    const result = await this.#run(task, async ({ step, timeoutMs, mayBreak = false }) => {
      const recorded = this.#host.onProgress(this, callId, { progress: step, timeoutMs })
      // A reboot is on record before it is requested, because a lost command without that record is repeated.
      return (!mayBreak && step.step !== 'reboot') || (await recorded)
    })
    if (result === LOST) return
    if (result.kind === 'returning') await this.#awaitPart(callId, result)
    await this.#host.onReply(this, callId, (sent) => junosDriver.decodeReply(sent, result))
  }

  /** Until the step is recorded, a lost connection leaves the command at `restart`, which is awaited as well. */
  async #awaitPart(callId: number, { part, uptimeS }: Extract<TaskResult, { kind: 'returning' }>): Promise<void> {
    const progress = stepOfPart('return', part, uptimeS)
    const sinceMs = this.#host.ctx.serviceClock.nowMs()
    this.#awaited.push({ callId, number: numberOfPart(part), uptimeS, sinceMs, wasAbsent: false })
    await this.#host.onProgress(this, callId, { progress, timeoutMs: waits.reboot })
  }

  /** Continues to wait for the parts that restart since an earlier connection. */
  async #awaitParts(): Promise<void> {
    const restarts = await this.#host.listAwaitedRestarts(this.deviceId)
    for (const { callId, params, uptimeS, progressMs } of restarts)
      if (!this.#awaited.some((one) => one.callId === callId))
        this.#awaited.push({ callId, number: numberOfPart(params), uptimeS, sinceMs: progressMs, wasAbsent: false })
  }

  /** @param askedAtMs Service time before the device was queried for its facts. */
  async #settleReturns(askedAtMs: number): Promise<void> {
    const facts = this.#facts
    const returned = this.#awaited.filter((one) => hasReturned(one, facts, askedAtMs))
    this.#awaited = this.#awaited.filter((one) => !returned.includes(one))
    for (const one of this.#awaited) one.wasAbsent ||= !isPresent(one.number, facts)
    for (const { callId } of returned)
      await this.#host.onReply(this, callId, (sent) => junosDriver.decodeReply(sent, { kind: 'done' }))
  }

  async #poll(): Promise<void> {
    const before = this.#facts
    const askedAtMs = this.#host.ctx.serviceClock.nowMs()
    this.#polls += 1
    const isThorough = this.#polls % POLLS_PER_THOROUGH === 0
    const read = await this.#run(readChanges(before, isThorough))
    if (read === LOST) return
    const uptimeS = continuedUptimeS(before, read, (askedAtMs - this.#askedAtMs) / 1000)
    const after = { ...read, uptimeS }
    this.#facts = after
    this.#askedAtMs = askedAtMs
    const reported = this.#report(after.uptimeS, {
      members: changed(membersOf(before), membersOf(after)),
      capabilities: changed(junosDriver.capabilitiesOf(before), junosDriver.capabilitiesOf(after)),
      hardware: null,
    })
    // A person who sees that a member is back may send the next command immediately, for which the member must be
    // recorded as present.
    if (this.#awaited.length > 0) await reported
    await this.#settleReturns(askedAtMs)
    // A changed member has another version, uptime or place.
    if (isThorough || changed(before.members, after.members) !== null) await this.#pollHardware()
  }

  async #pollHardware(): Promise<void> {
    const hardware = await this.#run(readHardware(this.#facts))
    if (hardware === LOST) return
    void this.#report(null, { members: null, capabilities: null, hardware })
  }

  /** @param mayCall Called before each request; false drops the task. */
  async #run<Result>(
    task: Task<Result>,
    mayCall?: (call: TaskCall) => Promise<boolean>,
  ): Promise<Result | typeof LOST> {
    let next = task.next()
    while (next.done !== true) {
      const call = next.value
      if ((await mayCall?.(call)) === false || this.#session.isClosed) return LOST
      const reply = await this.#session.request(call)
      if (reply.kind === 'broken' && (call.mayBreak !== true || this.#isEnded)) return LOST
      next = await this.#session.decode(() => task.next(reply))
    }
    return next.value
  }

  /** Resolves when the report is recorded. The device is polled rarely, so most reports need not be awaited. */
  #report(uptimeS: number | null, changes: Changes): Promise<void> | undefined {
    return this.#host.report({
      deviceId: this.deviceId,
      epoch: this.epoch,
      uptimeS,
      isOfParts: this.#facts.members.length > 1 || this.#facts.nodes.length > 1,
      boot: null,
      firmware: null,
      load: {},
      telemetry: null,
      ...changes,
    })
  }
}

/** Null: unchanged. */
interface Changes {
  readonly members: DeviceFacts['members']
  readonly capabilities: DeviceFacts['capabilities'] | null
  readonly hardware: Hardware | null
  /** As in BootClaims. */
  readonly isOfHello?: boolean
}

function changed<T>(before: T, after: T): T | null {
  return JSON.stringify(before) === JSON.stringify(after) ? null : after
}

function membersOf({
  model: own,
  members,
  nodes,
}: Pick<JunosFacts, 'model' | 'members' | 'nodes'>): DeviceFacts['members'] {
  if (members.length === 0 && nodes.length === 0) return null
  return [
    ...members.map(({ member, mac, serial, model, version }) => ({ member, mac, serial, model, firmware: version })),
    ...nodes.map(({ node, serial, version }) => ({
      member: Number(node.slice(-1)),
      mac: '',
      serial,
      model: own,
      firmware: version,
    })),
  ]
}
