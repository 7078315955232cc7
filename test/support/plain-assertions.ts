import { chai } from 'vitest'

// Each `expect` would make five proxies, which take half of its time and only report misspelled matchers. The compiler does that.
chai.config.useProxy = false
