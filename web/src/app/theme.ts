import { createTheme } from '@mantine/core'

/** The settings of components besides the colours in colors.css. */
export const theme = createTheme({
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    // Every field of the forms is required, unless its label marks it as optional.
    InputWrapper: { defaultProps: { withAsterisk: false } },
    Modal: { defaultProps: { transitionProps: { duration: 0 }, closeButtonProps: { 'aria-label': 'Close' } } },
  },
})
