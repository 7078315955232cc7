import type { OrgScope, PlaceScope } from '../../access/scope.ts'
import type { ChangeKind } from '../../platform/changes.ts'
import type { Context } from '../../platform/context.ts'
import type { At } from '../at.ts'

/** Something that clients of the stream may subscribe to. Its name is the path of the place, with the ids. */
export interface Channel<Scope extends PlaceScope = PlaceScope> {
  /** Who may subscribe. Parameters beyond those of the place are ids. */
  readonly at: At<Scope>
  /** What is told on it. */
  readonly kinds: readonly ChangeKind[]
  /**
   * Reads what a new listener is told at once, because clients begin something before they subscribe. It may be told
   * again.
   */
  recent?(ctx: Context, scope: Scope, params: Readonly<Record<string, string>>): Promise<readonly unknown[]>
}

/** Where changes of one kind are read, and how they are shown. */
export interface ChangeSource {
  readonly kind: ChangeKind
  /**
   * Reads what has changed, and says on which channels it is to be told. What no longer exists is left out.
   * @param scope The organization. Who hears of it is a question of the channel: the messages contain no secrets.
   */
  read(ctx: Context, scope: OrgScope, ids: readonly string[]): Promise<readonly Told[]> | readonly Told[]
}

export interface Told {
  /** Names of channels. */
  readonly channels: readonly string[]
  readonly data: unknown
}

/** The channels of one noun, and their sources. */
export interface StreamPart {
  readonly channels: readonly Channel[]
  readonly sources: readonly ChangeSource[]
}
