/** RFC 9110, 5.6.2. */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** RFC 9110, 5.5: a line end would begin another header. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
