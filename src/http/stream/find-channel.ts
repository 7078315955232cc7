import type { Channel } from './channel.ts'

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

/** A channel that a client has named, with the ids in its name. */
export interface NamedChannel {
  readonly channel: Channel
  readonly params: Readonly<Record<string, string>>
}

/** Returns a function that finds a channel by its name; null for a name that is not a channel's. */
export function channelFinder(channels: readonly Channel[]): (name: string) => NamedChannel | null {
  const patterns = channels.map((channel) => ({
    channel,
    pattern: new RegExp(`^${channel.at.path.replaceAll(/:(\w+)/g, `(?<$1>${UUID})`)}$`),
  }))
  return (name) => {
    for (const { channel, pattern } of patterns) {
      const found = pattern.exec(name)
      if (found !== null) return { channel, params: { ...found.groups } }
    }
    return null
  }
}
