import { type CommandError, type CommandResult, errorCodes } from '../gateway/edge/messages.ts'
import { NotExecuted } from './appliance.ts'
import { Interrupted } from './interrupted.ts'
import type { OnPoint } from './points.ts'
import type { Order, Role } from './role.ts'
import type { State } from './state.ts'
import { messageOf } from '../platform/message-of.ts'

export type Answer = { readonly result: CommandResult } | { readonly error: CommandError }

/** A command as the agent remembers it, on disk. */
interface CommandRecord {
  readonly command_id: string
  /** The id of the gateway's call, which the answer has to name. */
  readonly call_id: number
  readonly method: string
  readonly params: unknown
  /** Null until the command has ended. */
  readonly answer: Answer | null
  /** True once the gateway has certainly got the answer. */
  readonly delivered: boolean
}

export interface AnsweredCall {
  readonly callId: number
  readonly commandId: string
  readonly answer: Answer
}

/**
 * Executes commands once. A command is recorded before it begins and its answer before that is sent, so that a repeated
 * call gets the recorded answer, and a command that a crash has interrupted is completed at the next start.
 */
export interface CommandBook {
  /** Resolves with the answer to a call, which may not even be one of the agent's methods. */
  handle(call: { readonly id: number; readonly method: string; readonly params: unknown }): Promise<AnsweredCall>
  /** Completes a command that a crash has interrupted. Resolves with false if there was none. */
  resume(): Promise<boolean>
  /** Lists the ids of the newest commands that have not ended, or whose answers may not have reached the gateway. */
  openIds(): Promise<string[]>
  /** Lists the answers that the gateway may not have got, oldest first. */
  undelivered(): Promise<AnsweredCall[]>
  recordDelivered(commandId: string): Promise<void>
}

/** How a command ended. */
interface Ended {
  readonly answer: Answer
  /** True if its record already had the answer. */
  readonly isRepeated: boolean
}

/** The number of answered commands to remember; the gateway repeats none that is older. */
const REMEMBERED = 256

export interface CommandBookOptions {
  readonly state: State
  readonly role: Pick<Role, 'executor' | 'bootId'>
  readonly onPoint: OnPoint
  /** Aborted when the agent stops: a command that then fails is executed again at the next start. */
  readonly signal: AbortSignal
}

export function createCommandBook({ state, role, onPoint, signal }: CommandBookOptions): CommandBook {
  /** By the id of the command; the gateway may repeat a call while the command runs. */
  const running = new Map<string, Promise<Ended>>()
  /** What the disk, which may be full, could not take. Without it each connection would execute an answered command again. */
  const unwritten = new Map<string, CommandRecord>()

  async function readRecord(commandId: string): Promise<CommandRecord | null> {
    const held = unwritten.get(commandId)
    if (held !== undefined) return held
    const text = await state.read(fileOf(commandId))
    return text === null ? null : (JSON.parse(text) as CommandRecord)
  }

  async function writeRecord(record: CommandRecord): Promise<void> {
    await state.write(fileOf(record.command_id), JSON.stringify(record))
    unwritten.delete(record.command_id)
  }

  /** Writes a record that has a file already. */
  async function rewriteRecord(record: CommandRecord): Promise<void> {
    unwritten.set(record.command_id, record)
    await writeRecord(record).catch(() => {})
  }

  async function execute(record: CommandRecord): Promise<Ended> {
    const known = await readRecord(record.command_id)
    if (known?.answer != null) return { answer: known.answer, isRepeated: true }
    if (known === null) {
      const refusal = await recordNew(record)
      if (refusal !== null) return { answer: refusal, isRepeated: false }
    } else if (known.call_id !== record.call_id) await rewriteRecord(record)
    if (known?.call_id !== record.call_id) onPoint('command recorded')
    const answer = await answerOf(record)
    onPoint('command executed')
    await rewriteRecord({ ...record, answer })
    onPoint('answer recorded')
    return { answer, isRepeated: false }
  }

  /** @returns The answer to a command that can't be recorded, and must not begin therefore. */
  async function recordNew(record: CommandRecord): Promise<Answer | null> {
    try {
      await writeRecord(record)
      return null
    } catch (error) {
      return refusalOf(record, new NotExecuted(`The agent could not record the command: ${messageOf(error)}`))
    }
  }

  async function answerOf(record: CommandRecord): Promise<Answer> {
    const { command_id, method, params } = record
    const boot_id = await role.bootId()
    try {
      const text = await role.executor.run({ method, params })
      return { result: { command_id, boot_id, repeated: false, text } }
    } catch (error) {
      // The system ends hooks together with the agent, and a hook may restart the machine itself.
      if (signal.aborted) throw new Interrupted('The agent stops')
      return refusalOf(record, error)
    }
  }

  async function refusalOf({ command_id }: CommandRecord, error: unknown): Promise<Answer> {
    const code = error instanceof NotExecuted ? errorCodes.refused : errorCodes.failed
    return { error: { code, message: messageOf(error), data: { command_id, boot_id: await role.bootId() } } }
  }

  /**
   * Joins the execution of a command that runs. Only an execution reads the record: a call that read it beside one could
   * miss the answer that is just being written, and execute the command again.
   */
  function executeOnce(record: CommandRecord): Promise<Ended> {
    const known = running.get(record.command_id)
    if (known !== undefined) return known
    const execution = execute(record).finally(() => running.delete(record.command_id))
    running.set(record.command_id, execution)
    return execution
  }

  async function begin(callId: number, { method, params }: Order): Promise<AnsweredCall> {
    // The shape of the params has been checked.
    const { command_id: commandId } = params as { readonly command_id: string }
    const record = { command_id: commandId, call_id: callId, method, params, answer: null, delivered: false }
    const { answer, isRepeated } = await executeOnce(record)
    if (isRepeated) return { callId, commandId, answer: repeated(answer) }
    await forgetOldest(state)
    return { callId, commandId, answer }
  }

  async function listRecords(): Promise<CommandRecord[]> {
    const names = await state.list('commands')
    const records = await Promise.all(names.map((name) => readRecord(name.replace(/\.json$/, ''))))
    return records.filter((record) => record !== null)
  }

  return {
    handle({ id, method, params }) {
      const wrong = role.executor.check({ method, params })
      if (wrong === 'unknown_method') return refuse(id, errorCodes.unknownMethod, `The agent has no method ${method}`)
      if (wrong === 'invalid_params')
        return refuse(id, errorCodes.invalidParams, `The params are not those of ${method}`)
      return begin(id, { method, params })
    },
    async resume() {
      for (const record of [...unwritten.values()]) await rewriteRecord(record)
      const interrupted = (await listRecords()).filter(({ answer }) => answer === null)
      for (const record of interrupted) await executeOnce(record)
      return interrupted.length > 0
    },
    async openIds() {
      const records = await listRecords()
      const open = records.filter(({ delivered }) => !delivered).map(({ command_id: commandId }) => commandId)
      // The record of a command that has just arrived may not be written yet.
      return [...new Set([...open, ...running.keys()])].slice(-REMEMBERED)
    },
    async undelivered() {
      return (await listRecords()).flatMap(({ call_id: callId, command_id: commandId, answer, delivered }) =>
        answer === null || delivered ? [] : [{ callId, commandId, answer }],
      )
    },
    async recordDelivered(commandId) {
      const record = await readRecord(commandId)
      if (record !== null && !record.delivered) await rewriteRecord({ ...record, delivered: true })
    },
  }
}

async function refuse(callId: number, code: number, message: string): Promise<AnsweredCall> {
  return { callId, commandId: '', answer: { error: { code, message: message.slice(0, 200) } } }
}

function repeated(answer: Answer): Answer {
  return 'result' in answer ? { result: { ...answer.result, repeated: true } } : answer
}

/** The ids of commands rise with time, so the first files are the oldest. */
async function forgetOldest(state: State): Promise<void> {
  const names = await state.list('commands')
  for (const name of names.slice(0, -REMEMBERED)) await state.remove(`commands/${name}`)
}

/** The id is a UUID, as its schema demands, so it names no other folder. */
function fileOf(commandId: string): string {
  return `commands/${commandId}.json`
}
