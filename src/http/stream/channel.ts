import type { OrgScope, PlaceScope } from '../../access/scope.ts'
import type { ChangeKind } from '../../platform/database/changes.ts'
import type { Context } from '../../platform/context.ts'
import type { At } from '../at.ts'

/** Something that clients of the stream may subscribe to. Its name is the path of the place, with the ids. */
export interface Channel<Scope extends PlaceScope = PlaceScope> {
  /** The place, and with it the possible subscribers. Parameters besides those of the place are ids. */
  readonly at: At<Scope>
  /** The kinds of changes on the channel. */
  readonly kinds: readonly ChangeKind[]
  /**
   * Reads the messages that a new listener gets immediately, because clients start actions before they subscribe. They
   * may be sent again.
   */
  recent?(ctx: Context, scope: Scope, params: Readonly<Record<string, string>>): Promise<readonly unknown[]>
}

/** The reader of changes of one kind, and their presentation. */
export interface ChangeSource {
  readonly kind: ChangeKind
  /** The number of objects per read, if each makes many messages. */
  readonly perRead?: number
  /**
   * Reads the changed objects, and determines their channels. Deleted objects are left out.
   * @param scope The organization. The channel decides who receives the messages, which contain no secrets.
   */
  read(
    ctx: Context,
    scope: OrgScope,
    ids: readonly string[],
  ): Promise<readonly ChangedObject[]> | readonly ChangedObject[]
}

export interface ChangedObject {
  /** Names of channels. */
  readonly channels: readonly string[]
  readonly data: unknown
}

/** The channels of one noun, and their sources. */
export interface StreamPart {
  readonly channels: readonly Channel[]
  readonly sources: readonly ChangeSource[]
}
