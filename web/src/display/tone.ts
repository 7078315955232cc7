/** The meaning of a color. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle'
