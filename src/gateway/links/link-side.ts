import type { SessionKey } from '../../devices/sessions/store.ts'
import type { Context } from '../../platform/context.ts'
import { countKeys } from '../../platform/json/count-keys.ts'
import type { CommandRows, RowOfCommand } from '../commands/command-rows.ts'
import { type Link, NO_EPOCH } from './device-link.ts'
import { type Dispatcher, startDispatcher } from '../commands/dispatcher.ts'
import { gatherUnlockedFacts } from '../gather-facts.ts'
import { deviceSpacing } from '../../platform/queues/spacing.ts'
import { type LinkRegistry, createLinkRegistry } from './link-registry.ts'
import type { LinkSide } from '../protocol.ts'
import { watchReplacements } from './replacements.ts'

/** What became of a connection. `replaced`: the device has connected once more before it was recorded. */
export type OpenResult =
  | { readonly kind: 'opened'; readonly epoch: string }
  | { readonly kind: 'refused' }
  | { readonly kind: 'replaced' }

/** The rows in which the connections of one sort of links are recorded. */
export interface SessionRows<L, F> {
  open(link: L, facts: F): Promise<OpenResult>
  /**
   * Closes sessions, except those of devices that another transaction has locked, and returns the ids of the latter.
   * @param isRepeated True if one of them was locked before.
   */
  close(keys: readonly SessionKey[], isRepeated: boolean): Promise<ReadonlySet<string>>
  /** Resolves when all sessions that were to be opened are written or failed. Those that wait for another transaction fail. */
  stop(): Promise<void>
}

export interface SideOptions<L extends Link, F, C extends RowOfCommand, S> {
  readonly sessions: SessionRows<NoInfer<L>, F>
  readonly commands: CommandRows<L, C, S>
  /** Names its worker in the log. */
  readonly name: string
  /** The interval of the search for commands without a wake. */
  readonly tickMs: number
  readonly batchSize: number
  readonly now: () => number
  /** Called for a device that seems to share its certificate with others. */
  readonly onShared?: (deviceId: string) => void
}

/** Connects links of one sort to their commands and to the database. */
export interface RunningSide<L extends Link, F, S> {
  readonly links: LinkRegistry<L>
  readonly dispatcher: Dispatcher<L, S>
  /** The interface for the protocols. */
  readonly host: LinkSide<L, F, S>
  /** See Hub. */
  prepareStop(): Promise<void>
  /** See Hub. */
  stop(): Promise<void>
}

/** Sends commands and records the devices' messages until `stop`. */
export function startSide<L extends Link, F, C extends RowOfCommand, S>(
  ctx: Context,
  options: SideOptions<L, F, C, S>,
): RunningSide<L, F, S> {
  const { sessions, commands } = options
  const replacements = watchReplacements(options.now)
  const links = createLinkRegistry<L>(({ deviceId }) => {
    if (replacements.add(deviceId)) options.onShared?.(deviceId)
  })
  const dispatcher = startDispatcher(ctx, { ...options, rows: commands, links })
  const disconnects = gatherUnlockedFacts<SessionKey>(ctx, {
    name: 'ends of sessions',
    spacing: deviceSpacing,
    rowOf: ({ deviceId }) => deviceId,
    async write(keys, isRepeated) {
      // A device reports and replies before its connection closes. Without the reply, its command would be lost with the
      // session, as would one that was never sent.
      await dispatcher.flush()
      // Another transaction has locked these commands.
      const waiting = new Set(keys.map(({ deviceId }) => deviceId).filter((id) => dispatcher.hasUnwritten(id)))
      const ready = keys.filter(({ deviceId }) => !waiting.has(deviceId))
      const locked = ready.length === 0 ? [] : await sessions.close(ready, isRepeated)
      // The stop of the gateway closes the sessions that are left.
      return new Set(isStopping ? [] : [...waiting, ...locked])
    },
    idOf: ({ deviceId, epoch }) => ({ deviceId, epoch }),
  })
  const ending = countKeys()
  let areEndsIgnored = false
  let isStopping = false

  function recordEnd({ deviceId, epoch }: L): void {
    if (epoch !== NO_EPOCH && !areEndsIgnored) ending.during(deviceId, disconnects.add({ deviceId, epoch }))
  }

  /** Otherwise the next connection of the device might be recorded before the end of its last one. */
  function hurryEnds({ deviceId }: L): void {
    if (dispatcher.hasUnwritten(deviceId)) void dispatcher.flush()
    if (ending.has(deviceId)) void disconnects.flush()
  }

  return {
    links,
    dispatcher,
    host: {
      async connect(link, facts) {
        hurryEnds(link)
        const result = await sessions.open(link, facts)
        if (result.kind === 'replaced') link.close('replaced')
        if (result.kind !== 'opened') return result.kind
        link.epoch = result.epoch
        // The link may have closed while its connection was being recorded.
        if (link.isClosed) recordEnd(link)
        else links.attach(link)
        dispatcher.kick()
        return 'connected'
      },
      onReply: (link, callId, decode) => dispatcher.onReply(link, callId, decode),
      whenWritten: (link) => dispatcher.whenWritten(link),
      onProgress: (link, callId, step) => dispatcher.onProgress(link, callId, step),
      onEvent: (link, event) => dispatcher.onEvent(link, event),
      onClosed(link) {
        links.detach(link)
        dispatcher.onClosed(link)
        recordEnd(link)
      },
    },
    async prepareStop() {
      await dispatcher.stopSending()
      areEndsIgnored = true
    },
    async stop() {
      isStopping = true
      await Promise.all([dispatcher.stop(), sessions.stop(), disconnects.stop()])
    },
  }
}
