#include "haltere/tcp.h"
