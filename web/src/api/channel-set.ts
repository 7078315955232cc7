import type { LiveStream, StreamListener } from './stream.ts'

/** The channels that one listener hears. */
export interface ChannelSet {
  /** Replaces the channels. Those that it heard before go on without a gap. */
  follow(channels: readonly string[]): void
  stop(): void
}

export function createChannelSet(stream: LiveStream, listener: StreamListener): ChannelSet {
  const ends = new Map<string, () => void>()

  function follow(channels: readonly string[]): void {
    const wanted = new Set(channels)
    for (const channel of wanted) if (!ends.has(channel)) ends.set(channel, stream.subscribe(channel, listener))
    for (const [channel, end] of ends) {
      if (wanted.has(channel)) continue
      ends.delete(channel)
      end()
    }
  }

  return { follow, stop: () => follow([]) }
}
