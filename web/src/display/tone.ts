/** The meaning of a colour. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle'
