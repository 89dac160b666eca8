// What Go has no call for: the processor finishes all that it has begun.
#include "textflag.h"

// func finishAllBefore()
TEXT ·finishAllBefore(SB), NOSPLIT, $0-0
#ifdef GOARCH_amd64
	LFENCE
#endif
#ifdef GOARCH_arm64
	ISB $15
#endif
	RET
